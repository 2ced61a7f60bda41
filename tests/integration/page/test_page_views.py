"""report.html: its diagrams, the matrix, the coverage, the theme, narrow screens, and the keyboard."""
import json
import re
import subprocess

import pytest

from browser import MODULES, OFF, changed, data, look, make, skip_without_a_page
from conftest import BUILD, REPOSITORY
import pairs

pytestmark = pytest.mark.usefixtures("page")
OPEN = "await page.waitForSelector('main'); await page.waitForFunction(() => document.querySelector('h2'));"
VIEWS = ["findings", "map", "matrix", "executions", "coverage", "lints", "notes"]


def show(view):
    return f"await page.evaluate(\"location.hash = 'view={view}'\"); await page.waitForSelector('main.view-{view} > *');"


@pytest.fixture
def page():
    skip_without_a_page()


@pytest.fixture
def mesh(tmp_path):
    """The page of an application of 30 services that call each other."""
    return make(tmp_path / "mesh.html", 60, 0, 12, "mesh")


# --- the map --------------------------------------------------------------------------------------

# What overlaps, by rectangles in the diagram's own units. A line is looked at in steps of two pixels.
OVERLAPS = """
    const svg = document.querySelector("svg.map"), found = [];
    const rect = (element) => { const {x, y, width, height} = element.getBBox(); return {x, y, width, height}; };
    const over = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    const inside = ({x, y}, r, by) => x > r.x + by && x < r.x + r.width - by && y > r.y + by && y < r.y + r.height - by;
    const boxes = [...svg.querySelectorAll(".service")].map((element) => ({name: element.dataset.service, rect: rect(element.querySelector("rect")),
      texts: [...element.querySelectorAll("text")].map(rect)}));
    const edges = [...svg.querySelectorAll(".edge")].map((element) => ({name: element.dataset.caller + " to " + element.dataset.service,
      label: rect(element.querySelector(".back")), text: rect(element.querySelector("text")), way: element.querySelector(".way")}));
    const inner = (r, outer) => r.x >= outer.x && r.x + r.width <= outer.x + outer.width && r.y >= outer.y && r.y + r.height <= outer.y + outer.height;
    for (const box of boxes) {
      for (const other of boxes) if (box !== other && over(box.rect, other.rect)) found.push(`${box.name} over ${other.name}`);
      for (const text of box.texts) if (!inner(text, box.rect)) found.push(`the name ${box.name} leaves its box`);
    }
    let points = 0;
    for (const edge of edges) {
      if (edge.text.x < edge.label.x || edge.text.x + edge.text.width > edge.label.x + edge.label.width) found.push(`the label of ${edge.name} leaves its place`);
      for (const box of boxes) if (over(edge.label, box.rect)) found.push(`the label of ${edge.name} over ${box.name}`);
      for (const other of edges) if (edge !== other && over(edge.label, other.label)) found.push(`the labels of ${edge.name} and ${other.name}`);
      for (let at = 0; at <= edge.way.getTotalLength(); at += 2, ++points) {
        const point = edge.way.getPointAtLength(at);
        for (const box of boxes) if (inside(point, box.rect, 1)) found.push(`the edge ${edge.name} through ${box.name}`);
        for (const other of edges) if (edge !== other && inside(point, other.label, 1)) found.push(`the edge ${edge.name} through the label of ${other.name}`);
      }
    }
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    const sizes = [...svg.querySelectorAll("text")].map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
    return {found: [...new Set(found)], points, boxes: boxes.map(({name}) => name), edges: edges.map(({name}) => name), least: Math.min(...sizes)};"""


# The narrower one has less room.
@pairs.only("width", [390])
@pytest.mark.parametrize("width", [1280, 390])
def test_thirty_services_are_readable_and_no_edge_runs_through_a_box(mesh, width):
    seen = look(mesh, OPEN + show("map") + f"await page.waitForSelector('svg.map'); return await page.evaluate(() => {{{OVERLAPS}}});", width=width)
    assert seen.errors == [] and seen.console == []
    calls = [(call["caller"], call["service"]) for call in data(mesh)["tests"][0]["calls"]]
    assert sorted(seen.result["boxes"]) == sorted({name for call in calls for name in call}) and len(seen.result["boxes"]) > 30
    assert sorted(seen.result["edges"]) == sorted({f"{caller} to {service}" for caller, service in calls})
    assert any(caller == service for caller, service in calls) and seen.result["points"] > 1000
    assert seen.result["found"] == []
    assert seen.result["least"] >= 11 - 0.01


# That everything can be reached by keys is in test_page.py.
@pytest.mark.whole
def test_a_service_of_the_map_leads_to_its_faults_by_keys(mesh):
    seen = look(mesh, OPEN + show("map") + """
        await page.locator(".map .service[data-service=payments]").focus();
        const dim = await page.locator(".edge.dim").count(), all = await page.locator(".edge").count();
        const scale = () => page.evaluate("document.querySelector('svg.map').clientWidth");
        const before = await scale();
        await page.click("[aria-label=larger]");
        const after = await scale();
        await page.locator(".map .service[data-service=payments]").focus();
        await page.keyboard.press("Enter");
        await page.waitForSelector(".matrix-row .cell");
        return {dim, all, before, after, rows: await page.locator("[role=rowheader]").allInnerTexts()};""")
    out = seen.result
    assert 0 < out["dim"] < out["all"] and out["after"] > out["before"]
    assert out["rows"] and all("payments" in row for row in out["rows"]), out


# --- lints ----------------------------------------------------------------------------------------

def test_the_source_of_a_line_that_several_lints_name_stands_there_once(mesh):
    def change(summary):
        for test in summary["tests"]:
            test["lints"] = []
        row = {"lint": "n-plus-one", "severity": "warning", "text": "one call for each", "help": "ask once"}
        here, there = "/app/a.py:7 (get)", "/app/b.py:7 (get)"
        summary["tests"][0]["lints"] = [{**row, "call_sites": [here, here, here]}, {**row, "call_sites": ["/app/a.py:7 (set)", there]}]
        for site in (here, there):
            summary["sources"][site] = {"first": 6, "lines": ["def get():", "    return ask()"]}
        summary["sources"]["/app/a.py:7 (set)"] = summary["sources"][here]
    seen = look(changed(mesh, change), OPEN + show("lints") + """
        return await page.locator("article.lint").evaluateAll((all) => all.map((lint) => ({
          sites: [...lint.querySelectorAll("p code")].map((site) => site.parentElement.textContent),
          sources: lint.querySelectorAll("pre.source").length})));""")
    assert seen.errors == [] and seen.result == [
        {"sites": ["a.py:7"], "sources": 1},
        {"sites": ["a.py:7 (its source stands above)", "b.py:7"], "sources": 1}], seen


# --- the matrix -----------------------------------------------------------------------------------

WORDS = {"failed": 3, "passed": 2, "failed anyway": 11, "redundant": 4, "not tested": 5, "not reached": 6}  # places in a cell of the data


def test_the_matrix_counts_at_each_call_site_what_became_of_each_fault(mesh):
    """Two calls of one place in the code are one row; every cell says in words what ran, and what could not be tested."""
    def change(summary):
        test = summary["tests"][0]
        first, second = [at for at, call in enumerate(test["calls"]) if call["caller"] == "checkout"][:2]
        for name in ("service", "stack"):
            test["calls"][second][name] = test["calls"][first][name]
        for at, cell in enumerate(test["matrix"]):
            cell[2:7] = [[3, 0, 0, 0, 0], [1, 2, 0, 4, 0], [0, 0, 5, 0, 0], [0, 1, 1, 1, 1], [0, 0, 0, 0, 7]][at % 5]
            cell[11] = [0, 2, 0][at % 3]
        test["rpcs"]["untested"] = [{"rpc": "a -> b GET /", "reason": "its cause is not known"}]
    test = data(changed(mesh, change))["tests"][0]
    expected = {}
    for cell in test["matrix"]:
        call = test["calls"][cell[0]]
        counts = expected.setdefault((call["caller"], call["service"], tuple(call["stack"])), {}).setdefault(cell[1], dict.fromkeys(WORDS, 0))
        for word, place in WORDS.items():
            counts[word] += cell[place]
    assert len(expected) == len(test["calls"]) - 2, "of the test's own call there is no fault, and two calls are one"
    seen = look(mesh, OPEN + show("matrix") + """
        await page.waitForSelector(".matrix-row .cell");
        const box = page.locator(".virtual.matrix");
        const rows = new Map();
        for (let top = 0; ; top += 200) {
          await box.evaluate((element, top) => { element.scrollTop = top; element.dispatchEvent(new Event("scroll")); }, top);
          await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
          for (const [key, cells] of await page.locator(".matrix-row:not(.head)").evaluateAll((all) => all.map((row) =>
            [row.style.top, [...row.querySelectorAll(".cell")].map((cell) => cell.innerText)]))) rows.set(key, cells);
          if (await box.evaluate((element) => element.scrollTop + element.clientHeight >= element.scrollHeight)) break;
        }
        return {rows: [...rows.values()], untested: await page.locator("main > section > p").first().innerText(), left: await page.locator(".left-out").innerText()};""")
    def read(cell):
        counts = dict.fromkeys(WORDS, 0)
        for number, word in re.findall(r"(\d+)(?: of \d+)? (failed anyway|failed|passed|redundant|not tested|not reached)", cell):
            counts[word] = int(number)
        return counts
    shown = [[read(cell) for cell in row] for row in seen.result["rows"]]
    assert shown == [list(cells.values()) for cells in expected.values()]
    ran = [[sum(cell[word] for word in ("failed", "passed", "failed anyway", "not tested")) for cell in row] for row in shown]
    assert all(f"of {number} " in text for row, texts in zip(ran, seen.result["rows"]) for number, text in zip(row, texts) if number)
    assert "1 RPC could not be tested" in seen.result["untested"] and "its cause is not known" in seen.result["left"]


# --- diagrams -------------------------------------------------------------------------------------

def first_background_call(summary):
    """Before the test calls anything, a service has called another one by itself."""
    test = summary["tests"][0]
    for rows in [test["reference"], *test["trees"].values()]:
        for row in rows:
            row["parent"] = None if row["parent"] is None else row["parent"] + 1
        rows.insert(0, {"call": 5, "parent": None, "start": 0, "end": 0.5, "outcome": "200"})


SEQUENCE = "await page.locator('.ways button').first().click(); await page.waitForSelector('.message');"


def test_a_sequence_begins_with_the_test_and_tells_its_labels_whole(mesh):
    path = changed(mesh, first_background_call)
    seen = look(path, OPEN + SEQUENCE + """
        const out = {first: await page.locator(".sequence").nth(1).locator(".who").first().textContent()};
        const xs = await page.locator(".sequence").nth(1).locator(".life").evaluateAll((all) => all.map((line) => Number(line.getAttribute("x1"))));
        out.sorted = xs.every((x, i) => i === 0 || x > xs[i - 1]);
        const messages = page.locator(".sequence").nth(1).locator(".message");
        await messages.first().focus();
        await page.keyboard.press("ArrowDown");
        out.told = await page.locator(".told").nth(1).innerText();
        out.lines = await messages.nth(1).locator(".label tspan").allTextContents();
        await messages.nth(3).hover();
        out.hovered = await page.locator(".told").nth(1).innerText();
        return out;""")
    out, test = seen.result, data(path)["tests"][0]
    assert out["first"].startswith("test") and out["sorted"]
    # The first message is the background's; the second is the test's own.
    assert test["calls"][0]["name"] in out["told"], out
    label, shown = "".join(test["calls"][0]["name"].split()), "".join("".join(out["lines"]).split()).removeprefix("\u2260")
    assert 1 < len(out["lines"]) <= 3 and label.startswith(shown.removesuffix("\u2026")), out
    assert shown == label or shown.endswith("\u2026"), out
    assert test["calls"][1]["name"] in out["hovered"], out


# What is red is in test_groups.py, too (test_red_is_only_what_a_finding_has).
@pytest.mark.whole
def test_an_error_that_the_reference_execution_has_too_is_not_red(mesh):
    seen = look(mesh, OPEN + SEQUENCE + """
        const answers = (nth) => page.locator(".sequence").nth(nth).locator(".message.answer").evaluateAll((all) => all.map((message) =>
          [message.querySelector(".label").textContent, message.classList.contains("failed")]));
        const out = {reference: await answers(0), now: await answers(1), tree: await page.locator(".tree .failed").allInnerTexts()};
        await page.locator(".ways button").nth(1).click();
        await page.waitForSelector(".waterfall");
        out.wrong = await page.locator(".sequence").nth(1).locator(".span.wrong .bar-words").allInnerTexts();
        return out;""")
    out = seen.result
    assert ["404", False] in out["reference"] and ["404", False] in out["now"], out
    assert not any(red for _, red in out["reference"])
    assert [text.split()[-1] for text, red in out["now"] if red] == ["500"], out
    assert out["tree"] == ["500"] and len(out["wrong"]) == 1 and out["wrong"][0].endswith("500"), out


# The same is of the reference execution, above.
@pytest.mark.whole
def test_an_error_that_an_execution_which_passed_has_too_is_not_red(mesh):
    """The test's own call, which has no fault, ends with 500 in it."""
    summary = data(mesh)
    passed = summary["verdicts"].index("passed")
    summary["tests"][0]["outcomes"].append({"text": "status:500=1", "words": "500", "failed": True})

    def change(executions):
        columns = executions[0]
        at = 0
        for verdict in columns["verdict"]:
            assert columns["rpcs"][at + 1] == 0, "the first RPC of each execution is the test's own"
            if verdict == passed:
                columns["rpcs"][at + 2] = len(summary["tests"][0]["outcomes"]) - 1
            at += 1 + 2 * columns["rpcs"][at]
    changed(mesh, lambda document: document.update(summary))
    changed(mesh, change, "executions")
    seen = look(mesh, OPEN + SEQUENCE + """
        await page.waitForFunction(() => document.querySelectorAll(".tree .failed").length === 0);
        return await page.locator(".message.answer.failed").count();""")
    assert seen.result == 0 and seen.errors == []


def test_a_waterfall_has_a_bar_for_each_rpc_where_its_time_is(mesh):
    seen = look(mesh, OPEN + """
        await page.locator('.ways button').nth(1).click(); await page.waitForSelector('.waterfall');
        const figure = page.locator(".sequence").nth(1);
        return {axis: await figure.locator(".axis span").evaluateAll((all) => all.map((tick) => [tick.textContent, parseFloat(tick.style.left)])),
                rows: await figure.locator(".span").evaluateAll((all) => all.map((row) => ({
                  name: row.querySelector(".call").textContent, indent: parseFloat(row.querySelector("th").style.paddingLeft), fault: row.classList.contains("fault"),
                  words: row.querySelector(".bar-words").textContent, left: parseFloat(row.querySelector(".bar-of").style.left), width: parseFloat(row.querySelector(".bar-of").style.width)})))};""")
    test = data(mesh)["tests"][0]
    rows = test["trees"][str(test["findings"][0]["execution"])]
    end = max(row["end"] for row in rows)

    def depth(row):
        return 0 if row["parent"] is None else 1 + depth(rows[row["parent"]])
    # The made-up rows stand in the order of the tree.
    assert len(seen.result["rows"]) == len(rows)
    deepest = sorted({row["indent"] for row in seen.result["rows"]})
    for row, shown in zip(rows, seen.result["rows"]):
        assert test["calls"][row["call"]]["name"] in shown["name"]
        assert deepest.index(shown["indent"]) == depth(row)
        assert shown["left"] == pytest.approx(100 * row["start"] / end, abs=0.01) and shown["width"] == pytest.approx(100 * (row["end"] - row["start"]) / end, abs=0.01)
        assert shown["fault"] == ("injected" in row) == ("\u26a1" in shown["words"])
    (first, at), *others = seen.result["axis"]
    assert (first, at) == ("0", 0) and others
    for text, left in others:
        assert float(text.removesuffix(" ms")) == pytest.approx(left * end / 100, abs=0.5)


# --- coverage -------------------------------------------------------------------------------------

def test_the_source_says_of_each_line_what_reached_it(mesh):
    counts = {"statements": 3, "without_faults": 1, "reached": 2, "only_under_faults": 1, "never": 1}
    file = {"file": "users.py", "counts": counts, "only_under_faults": [[3, 3]], "never": [[4, 4]]}
    lines = ["import os", "", "except Error:", "<script>never()</script>"]

    def change(summary):
        summary["coverage"] = {"counts": counts, "notes": [], "sources": {"users.py": {"lines": lines, "marks": "r.fn"}},
                               "services": [{"service": "users", "tools": ["coverage.py"], "reason": "", "counts": counts, "files": [file], "notes": []}]}
    seen = look(changed(mesh, change), OPEN + show("coverage") + """
        await page.click(".covered summary"); await page.waitForSelector(".covered .source");
        return {lines: await page.locator(".covered .source > div").evaluateAll((all) => all.map((line) => line.textContent)), axe: await axe()};""")
    shown = [re.sub(r"\s+", " ", line).strip() for line in seen.result["lines"]]
    assert shown == ["\u2713 reached without faults, line 1 import os", "2", "\u26a1 only under faults, line 3 except Error:",
                     "\u2717 never, line 4 <script>never()</script>"]
    assert seen.result["axe"] == []


# --- theme, narrow screens, every reader ----------------------------------------------------------

NO_STORAGE = """await context.addInitScript(() => Object.defineProperty(window, "localStorage", {get() { throw new Error("refused"); }}));
    await page.reload(); await page.waitForSelector(".theme");"""


# A browser writes what a page keeps in a process of its own. A second page is told when that is done, and only then a fresh load finds
# it for certain.
OTHER = """const other = await context.newPage();
    await other.goto(page.url());
    await other.evaluate(() => { window.told = new Promise((done) => addEventListener("storage", (event) => event.newValue === "light" && done())); });"""


# A browser that keeps what it is told is the usual one.
@pairs.only("stored", [True])
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "refused"])
def test_the_theme_is_switched_and_kept_where_that_is_possible(mesh, stored):
    seen = look(mesh, OPEN + ("" if stored else NO_STORAGE) + """
        const back = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
        const out = {system: await back()};
        await page.selectOption(".theme select", "dark");
        out.dark = await back();
        await page.emulateMedia({colorScheme: "dark"});
        await page.selectOption(".theme select", "system");
        out.darkSystem = await back();
        """ + (OTHER if stored else "") + """
        await page.selectOption(".theme select", "light");
        """ + ("await other.evaluate(() => window.told);" if stored else "") + """
        out.light = await back();
        await page.reload();
        await page.waitForSelector(".theme");
        out.again = await back();
        out.chosen = await page.locator(".theme select").inputValue();
        return out;""")
    out = seen.result
    assert out["system"] == out["light"] != out["dark"] == out["darkSystem"]
    assert out["again"] == (out["light"] if stored else out["dark"]) and out["chosen"] == ("light" if stored else "system")
    assert seen.errors == []


def failed_anyway(summary):
    """Faults at the last call came only with others, under which the test fails without them."""
    test = summary["tests"][0]
    for cell in test["matrix"]:
        if cell[0] == len(test["calls"]) - 1:
            cell[2:4], cell[11], cell[12] = [0, 0], 12, []


def test_on_a_phone_nothing_is_off_the_screen_and_filters_are_folded(mesh):
    seen = look(changed(mesh, failed_anyway), OPEN + "const out = {};" + "".join(show(view) + f"""
        out.{view} = {OFF}""" for view in VIEWS) + """
        await page.evaluate("location.hash = ''");
        const search = page.locator("input[type=search]");
        out.folded = !await search.isVisible();
        await page.click(".fold");
        out.unfolded = await search.isVisible();
        await page.fill("input[type=search]", "checkout");
        await page.click(".fold");
        out.words = await page.locator(".fold").innerText();
        await page.keyboard.press("/");
        await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Search");
        await page.locator('.ways button').nth(1).click(); await page.waitForSelector('.waterfall');
        out.waterfall = """ + OFF + "return out;", width=390, height=844)
    out = seen.result
    for name in [*VIEWS, "waterfall"]:
        width, screen, off = out[name]
        assert width <= screen == 390 and off == [], (name, out)
    assert out["folded"] and out["unfolded"] and out["words"] == "filters (1)", out


# What is closed at first.
OPENED = {"findings": SEQUENCE, "matrix": "await page.locator('.matrix-row button.cell').first().click(); await page.waitForSelector('.cell-detail');",
          "executions": "await page.locator('.reference summary').click(); await page.waitForSelector('.reference figure');"}


# The narrower one has less room; its colours are those that whoever works on the page sees less.
@pairs.only("scheme, width", [("dark", 390)])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_any_reader(mesh, scheme, width):
    """axe-core's rules, in every view. Half a second for each of seven: nothing smaller has all that a reader meets."""
    seen = look(mesh, OPEN + "const out = {};" + "".join(show(view) + f"""
        {OPENED.get(view, "")}
        out.{view} = await axe();""" for view in VIEWS) + "return out;", scheme=scheme, width=width)
    assert seen.result == {view: [] for view in VIEWS}


# --- the sources of the page ----------------------------------------------------------------------

def test_the_types_of_the_pages_sources_agree(tmp_path):
    packages = BUILD.resolve() / "page/node_modules"
    config = tmp_path / "tsconfig.json"
    config.write_text(json.dumps({"extends": str(REPOSITORY / "daemon/page/tsconfig.json"), "include": [str(REPOSITORY / "daemon/page/src")],
                                  "compilerOptions": {"paths": {"*": [f"{packages}/*"]}}}))
    checked = subprocess.run(["node", str(MODULES / "typescript/bin/tsc"), "-p", str(config)], text=True, capture_output=True, timeout=120)
    assert checked.returncode == 0, checked.stdout
