"""Environment errors: a red banner on the page, which says what failed, the last lines, and what to do; never a pass."""
import socket

import pytest

from browser import look, skip_without_a_page
from conftest import PYTHON, free_port
from small_apps import PROBE, config, relay, url

pytestmark = pytest.mark.usefixtures("page")
PASSED = {"name": "home", "command": f"exec {PROBE} 200 {url('back')}"}
OPEN = "await page.waitForSelector('main h2');"
BANNER = OPEN + """
    const color = await page.locator(".environment").first().evaluate((e) => {
      const probe = document.createElement("i"); probe.style.color = "var(--bad)"; document.body.append(probe);
      return [getComputedStyle(e.querySelector("h2")).color, getComputedStyle(probe).color];
    });
    return {banner: await page.locator("[role=alert]").innerText(), counts: await page.locator(".counts").innerText(), color,
            first: await page.locator(".environment").evaluate((e) => e.getBoundingClientRect().top < document.querySelector("main").getBoundingClientRect().top),
            nothing: await page.locator("main").innerText(), axe: await axe()};"""


@pytest.fixture
def page():
    skip_without_a_page()


def told(project, expected):
    """What the page says of an exploration that an environment error ended."""
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    seen = look(project.root / "report.html", BANNER)
    page = seen.result
    for words in expected:
        assert words in page["banner"], (words, page["banner"])
        assert words.split("\n")[0] in run.errors, run
    assert "environment error" in page["counts"] and "✓" not in page["counts"] and "no finding" not in page["counts"], page
    assert page["color"][0] == page["color"][1] and page["first"], page
    assert page["nothing"].startswith("Nothing was explored"), page
    assert page["axe"] == [] and seen.errors == [] and seen.console == []
    assert "no failure found" not in run.output, run
    assert (project.root / "summary.md").read_text().startswith("# Filibuster: an environment error, nothing was explored")
    assert 'errors="1"' in (project.root / "junit.xml").read_text()
    assert '"executionSuccessful": false' in (project.root / "report.sarif").read_text()
    return page["banner"]


@pytest.mark.whole
def test_a_program_that_is_not_there(project):
    project.write("filibuster.json", config([{"name": "back", "command": "exec no-such-program ${port:back}"}], [PASSED]))
    told(project, ["'back' ended before it was ready (exit status 127)", "no-such-program: not found", "install the program"])


def test_a_service_that_exits_at_its_start_with_a_traceback(project):
    project.write("wrong.py", "import json\njson.loads('{broken')\n")
    project.write("filibuster.json", config([{"name": "back", "command": f"exec {PYTHON} wrong.py", "ports": ["back"]}], [PASSED]))
    told(project, ["'back' ended before it was ready (exit status 1)", "wrong.py\", line 2", "JSONDecodeError", "start it by hand"])


@pytest.mark.whole
def test_a_reference_execution_that_fails_its_assertion(project):
    project.write("test_stock.py", "stock = 3\nassert stock == 4, f'expected 4 books, got {stock}'\n")
    project.write("filibuster.json", config([relay("back")], [
        {"name": "stock", "command": f"{PROBE} 200 {url('back')} && exec {PYTHON} test_stock.py"}]))
    banner = told(project, ["fails without any fault (exit status 1)", "AssertionError: expected 4 books, got 3",
                            "let the test pass without faults first"])
    assert "in test stock" in banner


@pytest.mark.whole
def test_a_port_that_is_in_use(project):
    with socket.socket() as taken:
        port = free_port()
        taken.bind(("127.0.0.1", port))
        taken.listen()
        project.write("filibuster.json", config([relay("back", ports={"back": port})], [PASSED]))
        told(project, [f"port {port} is already in use", "end that process"])


def test_one_of_two_tests_that_cannot_be_explored_is_no_test_without_findings(project):
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [
        {"name": "good", "command": f"exec {PROBE} 200,502,503 {url('front')}"},
        {"name": "wrong", "command": f"exec {PROBE} 404 {url('front')}"}], faults=[{"on": {"service": "back"}, "inject": ["503"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    seen = look(project.root / "report.html", BANNER).result
    assert "in test wrong" in seen["banner"] and "good" not in seen["banner"], seen
    assert "environment error" in seen["counts"] and "No failure found in the other test" in seen["nothing"], seen
    assert 'test "wrong": NOT EXPLORED: the reference execution' in run.output and "1 NOT EXPLORED" in run.output, run
    assert (project.root / "summary.md").read_text().startswith("# Filibuster: nothing was found; 1 test could not be explored")
