"""Pages in Debian's Chromium (drive.cjs)."""
import json
import pathlib
import subprocess

import pytest

from conftest import BUILD

HERE = pathlib.Path(__file__).parent
MODULES = BUILD / "tests/page/node_modules"
TEMPLATE = BUILD / "lib/filibuster/report.html"


class Seen:
    def __init__(self, answer):
        self.result = answer.get("result")
        self.requests = answer["requests"]
        self.console = answer["console"]
        self.errors = answer["errors"]


def skip_without_a_page():
    """The page needs npm to be built, and a browser to be looked at."""
    if not TEMPLATE.exists():
        pytest.skip("the page was not built (no npm): nothing of report.html was checked")
    if not pathlib.Path("/usr/bin/chromium").exists():
        pytest.skip("/usr/bin/chromium is not there: nothing of report.html was checked")


def look(address, body, timeout=120, **options):
    """What the body of a function returns for the page; drive.cjs says what it may use, and the options."""
    if isinstance(address, pathlib.Path):
        address = address.resolve().as_uri()
    done = subprocess.run(["node", str(HERE / "drive.cjs"), str(MODULES), address, json.dumps(options)],
                          input=body, text=True, capture_output=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return Seen(json.loads(done.stdout))


def make(path, executions, rpcs, findings, *more):
    """A page of made-up executions (page_maker.cc)."""
    subprocess.run([str(BUILD / "tests/page_maker"), str(BUILD / "lib/libfilibuster.so"), str(path), str(executions),
                    str(rpcs), str(findings), *more], check=True, timeout=300)
    return path


def history_page(path, document):
    """The page of a history, as `check` writes it."""
    json_path = path.with_suffix(".json")
    json_path.write_text(json.dumps({"history": document}))
    subprocess.run([str(BUILD / "tests/page_maker"), str(BUILD / "lib/libfilibuster.so"), str(path), "history", str(json_path)], check=True, timeout=60)
    return path


# How wide the page is, and what a reader cannot reach: it is beyond the right edge, and nothing around it scrolls or
# ends with an ellipsis.
OFF = """await page.evaluate(() => {
    const kept = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (["auto", "scroll"].includes(style.overflowX) || style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none" || at.classList.contains("hidden")) return true;
      }
      return false;
    };
    const off = [...document.querySelectorAll("#page *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !kept(element));
    return [document.scrollingElement.scrollWidth, innerWidth, off.map((element) => element.outerHTML.slice(0, 120))];
  });"""


def part_of(path, part):
    """Where a part of the data stands in the page."""
    text = path.read_text()
    begin = text.index(f'id="{part}">') + len(f'id="{part}">')
    return begin, text.index("</script>", begin), text


def data(path, part="summary"):
    begin, end, text = part_of(path, part)
    return json.loads(text[begin:end])


def changed(path, change, part="summary"):
    """The page with other data."""
    begin, end, text = part_of(path, part)
    document = json.loads(text[begin:end])
    change(document)
    path.write_text(text[:begin] + json.dumps(document).replace("<", "\\u003c") + text[end:])
    return path
