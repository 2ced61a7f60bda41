"""report.html: what it answers, by keys and by address, without the network, whatever stands in it."""
import json
import re

import pytest

from browser import look, make, skip_without_a_page
import pairs
from small_apps import PROBE, config, relay, url

pytestmark = pytest.mark.usefixtures("page")
VIEWS = ["findings", "map", "matrix", "executions", "coverage", "lints", "notes"]
OPEN = "await page.waitForSelector('main'); await page.waitForFunction(() => document.querySelector('h2'));"


@pytest.fixture
def page():
    skip_without_a_page()


def explore(project, command=None, python=False, **members):
    """An application whose test fails where `back` does."""
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back", python=python)],
        [{"name": "home", "command": command or f"{PROBE} 200 {url('front')}"}], **members))
    return project.filibuster("run")


def text_of(selector):
    return f"(await page.locator({json.dumps(selector)}).allInnerTexts())"


# --- what it answers ------------------------------------------------------------------------------

def test_a_finding_is_told_with_its_fault_its_call_site_and_the_reference_beside_it(project):
    run = explore(project, python=True, faults=[{"on": {"service": "back"}, "inject": ["503"]}])
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert run.errors.splitlines()[-1] == f"page: {(project.root / 'report.html').as_uri()}  (filibuster open)", run
    assert (project.root / "report.html").stat().st_mode & 0o777 == 0o600
    seen = look(project.root / "report.html", OPEN + f"""
        return {{headline: {text_of('#headline')}, faults: {text_of('.fault-line')}, source: {text_of('.finding pre, .finding .source')},
                 site: {text_of('code.site')}, rows: {text_of('.tree tbody tr')}, replay: {text_of('#replay-command')},
                 diagrams: {text_of('.sequence figcaption')}, output: {text_of('pre.output')}, counts: {text_of('.counts')}}};""")
    told = seen.result
    assert told["headline"] == ["home: the test fails (exit status 1) under 1 fault"]
    assert "status:503" in told["faults"][0]
    assert re.match(r"relay\.py:\d+", told["site"][0]), told
    assert any("http.client" in text or "connection = " in text for text in told["source"]), told["source"]
    assert [("\u26a1" in row, "\u2260" in row) for row in told["rows"]] == [(False, True), (True, False)], told["rows"]
    assert told["diagrams"] == ["Reference execution", "Under the fault"]
    assert told["replay"][0].endswith(finding["counterexample"]) and "filibuster replay" in told["replay"][0]
    assert "expected one of" in told["output"][0]
    assert "1 finding" in told["counts"][0]
    assert seen.requests == [] and seen.errors == [] and seen.console == []


def test_an_exploration_without_a_finding_says_so(project):
    run = explore(project, f"{PROBE} 200,503 {url('front')}", faults=[{"on": {"service": "back"}, "inject": ["503"]}])
    assert run.exit_code == 0, run
    seen = look(project.root / "report.html", OPEN + f"return {text_of('main h2')};")
    assert seen.result == ["No failure found"]


# The matrix is in test_page_views.py, too.
@pytest.mark.whole
def test_the_matrix_has_every_fault_of_every_rpc(project):
    run = explore(project, faults=[{"inject": ["503", "refused"]}])
    seen = look(project.root / "report.html", OPEN + "await page.keyboard.press('3'); await page.waitForSelector('.matrix-row .cell');"
                "return await page.locator('button.cell').evaluateAll((all) => all.map((cell) => cell.textContent));")
    assert len(seen.result) == len(run.test["cases"]) == 2, seen.result
    for fault, text in zip(["refused", "status:503"], sorted(seen.result)):
        assert "front" in text and f", {fault}: " in text and text.endswith("1 of 1 failed"), seen.result


# --- keys, addresses, filters ---------------------------------------------------------------------

def test_everything_can_be_reached_by_keys(tmp_path):
    seen = look(make(tmp_path / "p.html", 60, 6, 12), OPEN + f"""
        const out = {{views: []}};
        for (let i = 1; i <= 7; ++i) {{
          await page.keyboard.press(String(i));
          await page.waitForFunction((i) => document.querySelectorAll("nav[aria-label=Views] a")[i - 1].getAttribute("aria-current") === "page", i);
          out.views.push(await page.evaluate("document.querySelector('main').className"));
        }}
        await page.keyboard.press("1");
        const chosen = () => page.evaluate("new URLSearchParams(location.hash.slice(1)).get('finding')");
        await page.keyboard.press("j");
        out.second = await chosen();
        await page.keyboard.press("k");
        out.first = await chosen();
        await page.keyboard.press("/");
        out.search = await page.evaluate("document.activeElement.getAttribute('aria-label')");
        await page.keyboard.press("Escape");
        await page.keyboard.press("?");
        out.help = {text_of('.keys')};
        await page.keyboard.press("Escape");
        out.closed = await page.locator(".keys").count();
        return out;""")
    out = seen.result
    assert out["views"] == [f"view-{view}" for view in VIEWS]
    assert out["first"] and out["second"] and out["first"] != out["second"]
    assert out["search"] == "Search" and "replay" in out["help"][0] and out["closed"] == 0


def test_an_address_leads_to_its_finding_and_a_filter_leaves_what_matches(tmp_path):
    path = make(tmp_path / "p.html", 60, 6, 12)
    seen = look(path, OPEN + """
        await page.keyboard.press("j"); await page.keyboard.press("j");
        const third = await page.evaluate("location.hash"), told = await page.locator(".finding").innerText();
        const other = await context.newPage();
        await other.goto(page.url());
        await other.waitForSelector(".finding");
        const same = (await other.locator(".finding").innerText()) === told;
        await page.fill("input[type=search]", "no finding has this text");
        await page.waitForFunction(() => document.querySelector("main h2").textContent.includes("No finding matches"));
        await page.click("text=show all findings");
        await page.waitForSelector(".finding");
        await page.selectOption("select[aria-label='Filter by fault']", "timeout");
        await page.waitForSelector(".filters [role=status]");
        return {third, same, left: await page.locator(".filters [role=status]").innerText(),
                faults: await page.locator(".set, .fault-line").allInnerTexts()};""")
    assert "finding=" in seen.result["third"] and seen.result["same"], seen.result
    assert 0 < int(seen.result["left"].split()[0]) < 12 and any("timeout" in text for text in seen.result["faults"]), seen.result


def test_a_print_has_the_finding_and_no_controls(tmp_path):
    seen = look(make(tmp_path / "p.html", 60, 6, 12), OPEN + """
        return {finding: await page.locator("#headline").isVisible(), search: await page.locator("input[type=search]").isVisible()};""",
                media="print")
    assert seen.result == {"finding": True, "search": False}


# --- what stands in it ----------------------------------------------------------------------------

def test_nothing_gets_out_of_the_place_where_it_stands(tmp_path):
    path = make(tmp_path / "p.html", 50, 12, 6, "hostile")
    seen = look(path, OPEN + """
        const out = {hit: []};
        for (let i = 1; i <= 7; ++i) {
          await page.keyboard.press(String(i));
          await page.waitForFunction((i) => document.querySelectorAll("nav[aria-label=Views] a")[i - 1].getAttribute("aria-current") === "page", i);
          out.hit.push(await page.evaluate("window.hit === undefined"));
        }
        out.scripts = await page.locator("script").count();
        out.images = await page.locator("img").count();
        return out;""")
    assert seen.result == {"hit": [True] * 7, "scripts": 3, "images": 0}
    assert seen.requests == [] and seen.errors == [] and seen.console == []


@pairs.only("id", ["hostile"])
@pytest.mark.parametrize("hostile", [(), ("hostile",)], ids=["plain", "hostile"])
def test_without_scripts_the_findings_can_be_read(tmp_path, hostile):
    seen = look(make(tmp_path / "p.html", 50, 12, 6, *hostile),
                "return {text: await page.locator('body').innerText(), images: await page.locator('img').count()};", script=False)
    replays = re.findall(r"filibuster replay \S+/(\d+)\.json", seen.result["text"])
    assert set(replays) == set("123456") and seen.result["images"] == 0
    assert seen.requests == []


@pytest.mark.whole
def test_ten_thousand_findings_stay_usable(tmp_path):
    seen = look(make(tmp_path / "p.html", 12000, 30, 10000), OPEN + """
        const drawn = await page.locator(".group-row").count();
        await page.keyboard.press("n");
        await page.waitForFunction(() => location.hash.includes("finding="));
        return {drawn, counts: await page.locator(".counts").innerText()};""")
    assert "(10,000 sets of faults)" in seen.result["counts"] and 0 < seen.result["drawn"] < 500
    assert seen.errors == []


@pytest.mark.whole
def test_a_page_that_was_cut_short_says_so(tmp_path):
    path = make(tmp_path / "p.html", 60, 6, 12)
    whole = path.read_text()
    path.write_text(whole[:whole.index('id="summary">') + 200] + "</script>" + whole[whole.index("</script>"):])
    seen = look(path, "await page.waitForSelector('[role=alert]'); return await page.locator('[role=alert]').innerText();")
    assert "cannot be read" in seen.result and "report.json" in seen.result


# --- where it is written --------------------------------------------------------------------------

def test_a_page_that_cannot_be_written_takes_nothing_else_away(project):
    (project.root / "report.html").mkdir(parents=True)
    run = explore(project, faults=[{"on": {"service": "back"}, "inject": ["503"]}])
    assert run.exit_code == 1 and len(run.test["findings"]) == 1, run
    assert "report.html" in run.errors and "report.json" in run.errors, run
    assert "page: file:" not in run.errors, run


def test_open_prints_where_the_page_is(project):
    explore(project, faults=[{"on": {"service": "back"}, "inject": ["503"]}])
    no_screen = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
    expected = (project.root / "report.html").as_uri() + "\n"
    for arguments in ([], [project.root / "report.json"], [project.root]):
        opened = project.filibuster("open", *arguments, env=no_screen)
        assert opened.exit_code == 0 and opened.output == expected, opened
    missing = project.filibuster("open", project.directory / "nothing")
    assert missing.exit_code == 2 and "there is no such page" in missing.errors, missing


# --- live -----------------------------------------------------------------------------------------

# The live page is in test_live.py.
@pytest.mark.whole
def test_a_running_exploration_is_followed_until_its_end(project):
    """The test waits in its second execution until the page has shown the first ones."""
    gate = project.directory / "gate"
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "home", "timeout": "120s",
          "command": f"{PROBE} 200 {url('front')} || {{ touch failed; until [ -e {gate} ]; do sleep 0.05; done; exit 1; }}"}],
        bounds={"reference_executions": 1}, faults=[{"on": {"service": "back"}, "inject": ["503"]}]))
    process = project.start("run")
    address = None
    for line in process.stderr:
        if line.startswith("live: "):
            address = line.split()[1]
            break
    assert address and "#token=" in address
    seen = look(address, f"""
        await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent.includes("running"));
        await page.waitForSelector(".counts");
        const during = await page.locator(".counts").innerText();
        require("fs").writeFileSync({json.dumps(str(gate))}, "");
        await page.waitForSelector(".finding");
        await page.waitForFunction(() => document.querySelector("[role=status]").textContent.includes("ended"));
        return {{during, url: page.url(), headline: await page.locator("#headline").innerText()}};""")
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert "no finding so far" in seen.result["during"]
    assert "token" not in seen.result["url"], "nobody copies it with a permalink"
    assert seen.result["headline"] == "home: the test fails (exit status 1) under 1 fault"
    assert all(line.split()[1].startswith(address.split("/#")[0]) for line in seen.requests), seen.requests
    assert seen.errors == []
