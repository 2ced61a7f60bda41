"""What the page says of one finding: the test's own words first, then the fault, its call site, what would mend it, the sets
of faults, and what the callers saw."""
import json

import pytest

from browser import look, skip_without_a_page
from conftest import PYTHON
from small_apps import config, relay, url

pytestmark = pytest.mark.usefixtures("page")
OPEN = "await page.waitForSelector('#headline');"

# A service whose handler does not catch what urllib raises: the framework's 500 is made here, and the traceback logged.
FRONT = """import http.server, json, sys, traceback, urllib.request
class Front(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = 200, b""
        try:
            body = handle()
        except Exception:
            traceback.print_exc()
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
def handle():
    return urllib.request.urlopen(sys.argv[2]).read()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
"""
CALL_LINE = FRONT.splitlines().index("    return urllib.request.urlopen(sys.argv[2]).read()") + 1
TEST = """import os, unittest, urllib.error, urllib.request
class Books(unittest.TestCase):
    def test_all(self):
        try:
            status = urllib.request.urlopen(os.environ["FRONT"]).status
        except urllib.error.HTTPError as error:
            status = error.code
        self.assertIn(status, (200, 503), "of GET /books")
unittest.main()
"""


@pytest.fixture
def page():
    skip_without_a_page()


@pytest.fixture
def explored(project):
    """front does not catch a refused connection, and makes 500 of an answer of 503."""
    project.write("front.py", FRONT)
    project.write("books.py", TEST)
    project.write("filibuster.json", config(
        [relay("back"), {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} {url('back')}"}],
        [{"name": "shop", "command": f"exec {PYTHON} books.py", "env": {"FRONT": url("front")}}],
        faults=[{"on": {"service": "back"}, "inject": ["refused", "503", "status:200"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    return project, run


def test_it_begins_with_the_tests_own_words_and_ends_with_the_trees(explored):
    project, run = explored
    seen = look(project.root / "report.html", OPEN + """
        const text = (selector) => page.locator(selector).allInnerTexts();
        const top = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().top);
        const order = [];
        for (const selector of ["#headline", ".fault-line", ".site", ".finding .source .here", ".mending", ".sets", ".saw", ".tree", ".sequence"])
          order.push(await top(selector));
        return {order, headline: await text("#headline"), faults: await text(".fault-line"), line: await text(".finding .source .here"),
                mending: await text(".mending"), sets: await text(".set"), axe: await axe()};""")
    told = seen.result
    assert told["order"] == sorted(told["order"]), told["order"]
    (headline,) = told["headline"]
    assert headline.startswith("test_all (__main__.Books.test_all): AssertionError: 500 not found in (200, 503) : of GET /books"), told
    assert "connection refused" in told["faults"][0] and "urlopen(sys.argv[2])" in told["line"][0], told
    assert told["mending"] == [f"What would mend it: Catch urllib.error.URLError and urllib.error.HTTPError at front.py:{CALL_LINE} (handle), and answer with "
                               "a fallback or with an error that the test accepts: nothing caught them, and front answered 500."], told
    assert [("the test fails" in text, "the test passes" in text) for text in told["sets"]] == [(True, False), (True, False), (False, True)], told
    assert "answer 200" in told["sets"][-1] and told["axe"] == []
    finding = run.test["findings"][0]["first"]
    assert finding["mending"].startswith("Catch `urllib.error.URLError` at")
    (cause,) = run.test["causes"]
    assert [row["findings"] for row in cause["mending"]] == [cause["findings"]] and len(cause["findings"]) == 2, cause
    assert "what would mend it: Catch `urllib.error.URLError` and `urllib.error.HTTPError` at" in run.output
    assert any(line.startswith("front logged urllib.error.URLError") for line in finding["seen"]), finding["seen"]


@pytest.mark.whole
def test_what_the_callers_saw_is_shown_where_it_differs_and_folded_where_not(explored):
    project, _ = explored
    seen = look(project.root / "report.html", OPEN + """
        const rows = await page.locator(".saw-row").allInnerTexts();
        const answers = await page.locator(".saw-row").first().locator(".answer").allInnerTexts();
        const before = await page.locator(".saw .equal").count();
        return {rows, answers, before, logged: await page.locator(".logged").allInnerTexts()};""")
    test_row, back_row = seen.result["rows"]
    assert "200" in test_row and "500" in test_row and "refused" in back_row, seen.result
    assert seen.result["before"] == 0 and "URLError" in seen.result["logged"][0], seen.result


@pytest.mark.whole
def test_calls_that_are_equal_are_one_line_that_opens(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("calm"), relay("front", "back", "calm")],
        [{"name": "home", "command": f"{PYTHON} -c \"import urllib.request as r; r.urlopen('{url('calm')}'); r.urlopen('{url('front')}')\""}],
        faults=[{"on": {"service": "back"}, "inject": ["503"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    seen = look(project.root / "report.html", OPEN + """
        const folded = page.locator(".saw .equal button").first();
        const words = await folded.innerText(), before = await page.locator(".saw-row").count();
        await folded.press("Enter");
        await page.waitForFunction((before) => document.querySelectorAll(".saw-row").length > before, before);
        return {words, more: await page.locator(".saw-row.same").allInnerTexts()};""")
    assert "1 call as without faults" in seen.result["words"] and "calm" in seen.result["more"][0], seen.result


def test_sets_of_faults_are_told_in_words_and_lead_to_their_findings(explored):
    project, run = explored
    seen = look(project.root / "report.html", OPEN + """
        const words = await page.locator(".set a").allInnerTexts();
        await page.locator(".set a").nth(1).click();
        await page.waitForFunction(() => document.querySelectorAll(".set")[1].classList.contains("here"));
        return {words, hash: await page.evaluate("location.hash"), fault: await page.locator(".fault-line").innerText()};""")
    assert seen.result["words"] == ["connection refused", "answer 503"], seen.result
    assert seen.result["hash"] == f"#finding={run.test['findings'][1]['id']}" and "answer 503" in seen.result["fault"], seen.result
