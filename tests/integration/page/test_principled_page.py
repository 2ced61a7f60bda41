"""principled.html in a browser: the execution that stopped the test, what is missing, what to paste, and the calls of each block."""
from browser import look, skip_without_a_page
from conftest import PYTHON
from small_apps import config, relay

SEEN = """
await page.waitForSelector(".principled .diagnostic");
const stopped = await page.evaluate(() => document.querySelector(".principled main").innerText);
const box = await page.evaluate(() => {
  const one = document.querySelector(".principled .diagnostic");
  return one.scrollHeight - one.clientHeight;
});
const copies = await page.locator(".principled .remedies button.copy").count();
await page.click("nav a >> text=without faults");
await page.waitForSelector("h2 >> text=without faults");
const reference = await page.evaluate(() => document.querySelector(".principled main").innerText);
await page.click("nav h2 a");
await page.waitForSelector("text=Methods of the service");
const methods = await page.evaluate(() => document.querySelector(".principled main").innerText);
return {stopped, box, copies, reference, methods};
"""


def test_it_shows_what_stopped_the_test(project):
    skip_without_a_page()
    stock = {"name": "stock", "stubs": [{"method": "GET", "path": "/", "answer": {"text": "ten"}}]}
    execute = [PYTHON, "-c", "import os, urllib.request; urllib.request.urlopen(os.environ['FRONT'])"]
    test = {"name": "front", "env": {"FRONT": "http://127.0.0.1:${port:front}"},
            "principled": {"execute": execute, "assert_stubs": [{"on": "GET /", "times": 1}]}}
    project.write("filibuster.json", config([stock, relay("front", "stock")], [test],
                                            faults=[{"on": {"caller": "front"}, "inject": ["status:503"]}]))
    run = project.filibuster("principled")
    assert run.exit_code == 1 and "principled.html" in run.errors, run

    seen = look(run.root / "principled.html", SEEN)
    assert not seen.errors and not seen.requests, vars(seen)
    page = seen.result
    assert "thrown-exception-unspecified" in page["stopped"] and "is this a bug?" in page["stopped"], page
    assert '{"on": "GET /", "throws": 503' in page["stopped"] and page["copies"] >= 1 and page["box"] == 0, page
    assert "status:503" in page["stopped"] and "front -> stock GET /" in page["stopped"], page
    assert "execute" in page["reference"] and "test -> front GET /" in page["reference"] and "503" not in page["reference"], page
    assert "GET /" in page["methods"] and "a success, 503" in page["methods"], page
