"""README.md and docs: links lead somewhere, messages are those of the sources, and each block of commands names the test that runs
it, or says why none does."""
import ast
import pathlib
import re
import shlex
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
SOURCES = ("cli", "core", "daemon", "preload", "bpf")
# What a fence may be of besides commands (`sh`).
OTHERS = {"text", "json", "python", "javascript", "typescript", "cpp", "java", "yaml"}
COMMAND = re.compile(r"(\w+=\S+ )*(filibuster|make|pytest|python3|java|curl|docker|setcap|cd) ")
by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def outside_of_fences(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)


def anchor(heading):
    """As GitHub makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(page):
    text = outside_of_fences(page.read_text())
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)} | set(re.findall(r'<a id="(.*?)">', text))


@by_name
def test_links_lead_to_files_and_headings(page):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_of_fences(page.read_text())):
        path, _, heading = target.partition("#")
        if "://" in path:
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (heading and heading not in anchors(file)):
            wrong.append(target)
    assert not wrong


def test_the_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().split()) <= 1200
    assert (REPOSITORY / "docs/finding.png").stat().st_size < 300_000


# --- messages -----------------------------------------------------------------------------------


def sources():
    """All sources, with the pieces of a text that stands on several lines put together."""
    files = subprocess.run(["git", "ls-files", *SOURCES], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    text = "\n".join((REPOSITORY / file).read_text(errors="replace") for file in files
                     if file.endswith((".cc", ".h", ".py", ".cjs", ".rb")))
    return re.sub(r'"\s*\n\s*"', "", text).replace('\\"', '"')


def quoted(text):
    """What stands in backticks, in the first column of each row: messages, in parts around what varies (`…`)."""
    for row in re.findall(r"^\| (?!you see|---)(.*?) \| ", text, re.M):
        for message in re.findall(r"`([^`]+)`", row):
            yield from (part for part in message.split("…") if part)


def test_messages_that_troubleshooting_quotes_are_those_of_the_sources():
    text, code = (REPOSITORY / "docs/troubleshooting.md").read_text(), sources()
    parts = list(quoted(text))
    assert len(parts) > 30  # derived from nothing: it is found at all
    assert [part for part in parts if part not in code] == []


# --- commands -----------------------------------------------------------------------------------


def blocks(page):
    """(marker, language, text) of each fence; marker: the comment on the line before, or ""."""
    for found in re.finditer(r"(?:^<!-- (.*?) -->\n)?^ *```(\S*)\n(.*?)^ *```", page.read_text(), re.M | re.S):
        yield found.group(1) or "", found.group(2), found.group(3)


def functions(file):
    tree = ast.parse(file.read_text())
    return {node.name: ast.get_source_segment(file.read_text(), node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def what_is_wrong(marker, text):
    """With the marker of a block of commands; "": nothing."""
    if re.fullmatch(r"not run: \S.*", marker):
        return ""
    found = re.fullmatch(r"run by (tests/\S+\.py)::(\w+)", marker)
    if not found:
        return "it has neither `<!-- run by FILE::TEST -->` nor `<!-- not run: reason -->`"
    file = REPOSITORY / found.group(1)
    if not file.exists() or found.group(2) not in functions(file):
        return f"there is no {marker[len('run by '):]}"
    if f'commands_of("{found.group(2)}")' in functions(file)[found.group(2)]:
        return ""  # it takes them from here
    lines = [line for line in re.sub(r" #.*", "", text).splitlines() if re.search(r"filibuster [a-z]|--filibuster", line)]
    words = {word for line in lines for word in re.findall(r"filibuster ([a-z-]+)|(?<= )(--[a-z-]+)", line)}
    missing = [word for pair in words for word in pair if word and word not in file.read_text()]
    return f"{found.group(1)} lacks {missing}" if missing else ""


@by_name
def test_each_block_of_commands_names_its_test_or_says_why_not(page):
    wrong = []
    for marker, language, text in blocks(page):
        if language == "sh":
            problem = what_is_wrong(marker, text)
        else:
            problem = "" if language in OTHERS else f"its language is '{language}'"
        if problem:
            wrong.append(f"{problem}: {text.splitlines()[0]}")
    assert not wrong


@by_name
def test_commands_stand_in_fences(page):
    lines = outside_of_fences(page.read_text()).splitlines()
    assert [line for line in lines if line.startswith("    ") and COMMAND.match(line.strip())] == []


@by_name
def test_targets_of_make_are_there(page):
    rules = "\n".join(file.read_text() for file in (REPOSITORY / "Makefile", *REPOSITORY.glob("*/*.mk")))
    targets = set(re.findall(r"^([a-z][a-z-]*)(?= ?[a-z -]*::?(?: |$))", rules, re.M)) | {
        word for line in re.findall(r"^\.PHONY: (.*)", rules, re.M) for word in line.split()}
    text = page.read_text()
    lines = [line for _, language, block in blocks(page) if language == "sh" for line in block.splitlines()] + re.findall(r"`(make [^`]+)`", text)
    named = {word for line in lines if line.startswith("make ") for word in shlex.split(line, comments=True)[1:]}
    assert {word for word in named if re.fullmatch("[a-z][a-z-]*", word)} <= targets
