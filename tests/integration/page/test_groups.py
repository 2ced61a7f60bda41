"""Findings with several sets of faults: which one an address opens, how they are told apart, what would mend them all, and
where the matrix and the map are red."""
import json
import re

import pytest

from browser import changed, data, look, make, skip_without_a_page
from small_apps import PROBE, config, relay, url

pytestmark = pytest.mark.usefixtures("page")
OPEN = "await page.waitForSelector('main'); await page.waitForFunction(() => document.querySelector('h2'));"


@pytest.fixture
def page():
    skip_without_a_page()


def grouped(path, *groups):
    """The page with these groups of its findings, by their numbers."""
    def change(summary):
        ids = {finding["number"]: finding["id"] for finding in summary["tests"][0]["findings"]}
        summary["tests"][0]["causes"] = [{"findings": [ids[number] for number in group], "failed": [], "mending": []} for group in groups]
    return changed(path, change)


# --- addresses and order --------------------------------------------------------------------------

SHOWN = """const shown = async () => ({kicker: await page.locator(".kicker").allInnerTexts(), group: await page.locator("a.group").evaluateAll(
    (all) => all.findIndex((row) => row.classList.contains("here"))), here: await page.locator(".set.here").allInnerTexts(), missing: await page.locator(".missing").allInnerTexts()});
    const at = async (hash) => { await page.goto(page.url().split("#")[0] + "#" + hash); await page.reload(); await page.waitForSelector("main h2"); return shown(); };"""


# That an address leads to its finding is in test_page.py.
@pytest.mark.whole
def test_an_address_with_the_number_of_a_finding_opens_its_set_in_its_group(tmp_path):
    path = grouped(make(tmp_path / "p.html", 60, 6, 12), [2, 1, 3], [7, 5, 4, 6], range(8, 13))
    finding = data(path)["tests"][0]["findings"][4]
    opened = {"finding=5": (5, 1), "finding=1": (1, 0), "finding=12": (12, 2), f"finding={finding['id']}": (5, 1)}
    seen = look(path, OPEN + SHOWN + f"""
        const out = {{}};
        for (const hash of {json.dumps([*opened, "finding=99", "finding=5&fault=status:500"])}) out[hash] = await at(hash);
        return out;""")
    for hash, (number, group) in opened.items():
        told = seen.result[hash]
        assert f", finding {number}, execution" in told["kicker"][0] and told["here"][0].endswith(f", finding {number}"), (hash, told)
        assert told["group"] == group and told["missing"] == [], (hash, told)
    unknown, hidden = seen.result["finding=99"], seen.result["finding=5&fault=status:500"]
    assert unknown["missing"] == ["There is no finding 99 in this report. This is the first one."] and unknown["group"] == 0, unknown
    assert hidden["missing"] == ["The filter hides finding 5. This is the first one."], hidden


@pytest.mark.whole
def test_the_findings_stand_in_the_order_of_the_report(tmp_path):
    """A finding of two call sites before one of a single one, as the terminal lists them."""
    def one_fault(summary):
        summary["tests"][0]["findings"][3]["faults"] = summary["tests"][0]["findings"][3]["faults"][:1]
    path = changed(grouped(make(tmp_path / "p.html", 60, 6, 12), [6, 7], [4], [1]), one_fault)
    seen = look(path, OPEN + """
        const kickers = [];
        for (let i = 0; i < 3; ++i) {
          kickers.push(await page.locator(".kicker").innerText());
          await page.keyboard.press("n");
          await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        }
        return kickers;""")
    assert [int(re.search(r"finding (\d+)", text)[1]) for text in seen.result] == [6, 4, 1], seen.result


# --- sets of the same words -----------------------------------------------------------------------

def faulted(summary, *faults):
    """The first findings have these faults, a call and a kind each."""
    test = summary["tests"][0]
    for finding, (call, kind) in zip(test["findings"], faults):
        finding["faults"] = [{"call": call, "fault": kind, "text": kind, "words": kind}]
    return test


def masked_keys(summary):
    """Two requests that differ only in their query each get a key of which the name is masked."""
    test = faulted(summary, (3, "timeout"), (4, "timeout"), (4, "refused"))
    for call, parent in [(3, 1), (4, 2)]:
        test["calls"][call] = {**test["calls"][3], "index": f"key {call}", "name": "GET page:*", "parent": test["calls"][parent]["index"]}
        test["calls"][parent]["name"] = f"GET /books?page={parent}"


def calls_of_one_name(summary):
    test = faulted(summary, (3, "timeout"), (4, "timeout"))
    test["calls"][4] = {**test["calls"][3], "index": "another", "count": 2}


def several_details(summary):
    """No detail alone tells the three: one has another body, and one is another call."""
    test = faulted(summary, (3, "status:503"), (3, "status:503"), (4, "status:503"))
    test["calls"][4] = {**test["calls"][3], "index": "another", "count": 2}
    for finding, key in zip(test["findings"], ["status:503#aa", "status:503#bb", "status:503#aa"]):
        finding["faults"][0]["key"] = key


def test_sets_of_the_same_words_say_what_differs(tmp_path):
    pages = [changed(grouped(make(tmp_path / f"{change.__name__}.html", 60, 6, 12), [1, 2, 3][:number]), change)
             for change, number in [(masked_keys, 3), (calls_of_one_name, 2), (several_details, 3)]]
    seen = look(pages[0], f"""
        const out = [];
        for (const address of {json.dumps([path.as_uri() for path in pages])}) {{
          await page.goto(address);
          await page.waitForSelector(".set.bad");
          out.push([await page.locator(".set.bad a").allInnerTexts(), await page.locator("a.group .quiet").first().innerText()]);
        }}
        return out;""")
    (keys, row), (calls, _), (several, _) = seen.result
    at = "at gateway0 \u2192 service3 GET page:*"
    assert keys == [f"timeout {at} (within GET /books?page=1)", f"timeout {at} (within GET /books?page=2)", f"refused {at}"], keys
    assert row == "3 sets of faults: timeout (within GET /books?page=1); timeout (within GET /books?page=2); refused"
    at = "timeout at gateway0 \u2192 service3 GET /items/3"
    assert calls == [f"{at} (call 1 of GET /items/3)", f"{at} (call 2 of GET /items/3)"], calls
    assert [text.split(" (")[1] for text in several] == ["call 1 of GET /items/3, status:503#aa)", "call 1 of GET /items/3, status:503#bb)",
                                                         "call 2 of GET /items/3, status:503#aa)"], several


# --- what would mend them -------------------------------------------------------------------------

def test_what_would_mend_some_sets_only_names_them(tmp_path):
    def change(summary):
        ids = summary["tests"][0]["causes"][0]["findings"]
        summary["tests"][0]["causes"][0]["mending"] = [{"text": "Catch `A` and `B`.", "findings": [ids[0], ids[2], ids[3]]}, {"text": "Send a key.", "findings": [ids[1]]}]
    seen = look(changed(grouped(make(tmp_path / "p.html", 60, 6, 12), [1, 2, 4, 3, 5]), change), OPEN + """
        const first = await page.locator(".mending").allInnerTexts();
        await page.keyboard.press("j");
        await page.waitForFunction(() => document.querySelectorAll(".set")[1].classList.contains("here"));
        return [first, await page.locator(".mending").allInnerTexts()];""")
    told = ["What would mend findings 1, 4 and 3: Catch A and B.", "What would mend finding 2: Send a key."]
    assert seen.result == [told, told], seen.result


# --- what is red ----------------------------------------------------------------------------------

def test_red_is_only_what_a_finding_has(project):
    """front answers without one of first and second, and the test needs front. Whatever beside has, it passes: with all
    three faults it fails, as it does without beside's."""
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("c"), relay("front", "a", "b", options="--tolerate 1"), relay("beside", "c", options="--on-failure ignore")],
        [{"name": "home", "command": f"{PROBE} 200 {url('front')}; status=$?; {PROBE} 200 {url('beside')} && exit $status"}],
        faults=[{"inject": ["503"]}], bounds={"reference_executions": 1}))
    run = project.filibuster("run", "--reduce", "off")
    assert run.exit_code == 1 and [len(finding["faults"]) for finding in run.test["findings"]] == [2], run
    seen = look(project.root / "report.html", OPEN + """
        const out = {cells: {}, edges: {}};
        await page.keyboard.press("3");
        await page.waitForSelector(".matrix-row .cell");
        for (const row of await page.locator(".matrix-row:not(.head)").all()) {
          const cell = row.locator("button.cell");
          const [place, text, red] = [await row.locator(".place").innerText(), await cell.innerText(), await cell.evaluate((one) => one.classList.contains("most-failed"))];
          await cell.click();
          out.cells[/\u2192 (\\w+)/.exec(place)[1]] = [text.trim().split("\\n").slice(1), red, await page.locator(".cell-detail").innerText()];
        }
        out.axe = await axe();
        await page.keyboard.press("2");
        await page.waitForSelector("svg.map");
        for (const edge of await page.locator(".edge").all())
          out.edges[await edge.getAttribute("data-service")] = [await edge.evaluate((one) => one.classList.contains("bad")), await edge.locator("text").textContent()];
        return out;""")
    cells, edges = seen.result["cells"], seen.result["edges"]
    assert {service: cell[:2] for service, cell in cells.items()} == {
        "a": [["\u2713 1 of 1 passed", "\u2717 in finding 1"], True],
        "b": [["\u2717 1 of 2 failed", "\u2713 1 passed"], True],
        "c": [["\u2713 3 of 4 passed", "\u2248 1 failed anyway"], False]}, json.dumps(cells)
    assert ["A part of finding 1." in cells[service][2] for service in "abc"] == [True, True, False], cells
    assert {service: edges[service] for service in "abc"} == {"a": [True, "\u2717 1 of 1"], "b": [True, "\u2717 1 of 1"], "c": [False, "\u2713 1"]}, edges
    assert seen.result["axe"] == [] and seen.errors == []


@pytest.mark.whole
def test_a_fault_that_came_only_under_faults_that_fail_anyway_is_not_red_and_not_green(tmp_path):
    def change(summary):
        for cell in summary["tests"][0]["matrix"]:
            if cell[0] == 5:
                cell[2:] = [0, 0, 0, 0, 0, 2, 7, "failed", [], 1, []]
    seen = look(changed(make(tmp_path / "p.html", 60, 6, 12), change), OPEN + """
        await page.keyboard.press("3");
        const row = page.locator(".matrix-row:not(.head)").filter({hasText: "service5"});
        const cell = row.locator("button.cell").first();
        await cell.click();
        const out = {text: await cell.innerText(), name: await cell.getAttribute("class"), detail: await page.locator(".cell-detail").innerText()};
        await page.keyboard.press("2");
        const edge = page.locator(".edge[data-service=service5]");
        return {...out, edge: await edge.getAttribute("class"), label: await edge.locator("text").textContent(), legend: await page.locator(".legend").innerText()};""")
    out = seen.result
    assert out["text"].strip().endswith("\n\u2248 1 of 1 failed anyway") and out["name"] == "cell most-anyway", out
    assert "With 1 more: \u2717 failed in execution 7, as without this fault." in out["detail"], out
    assert not {"bad", "good", "untried"} & set(out["edge"].split()) and out["label"] == "\u2248 5" and "fails anyway" in out["legend"], out
