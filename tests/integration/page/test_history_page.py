"""The page of a checked history in a browser: the verdict in words, operations over time, the order in which they took effect."""
import pytest

from browser import OFF, history_page, look, skip_without_a_page

pytestmark = pytest.mark.usefixtures("page")
NOT, YES, UNKNOWN = "not linearisable", "linearisable", "unknown"
HOSTILE = "</script><img src=x onerror=window.hit=1>"

HELP = """const text = (what) => page.locator(what).innerText();
    const all = (what) => page.locator(what).allInnerTexts();
    const at = async (place) => { await page.goto(place); await page.waitForSelector(".history .operation"); };
    const panel = () => page.waitForSelector("section.panel").then((one) => one.innerText());
    const out = {};"""


@pytest.fixture
def page():
    skip_without_a_page()


def call(process, f, asked, answered, call, end, outcome="ok", key=""):
    """Its line is one more than ten times its first event, so that no two numbers of it are alike."""
    return {"process": str(process), "f": f, "asked": asked, "answered": answered, "outcome": outcome, "key": key,
            "call": call, "end": end, "line": 10 * call + 1}


def order(calls, states, stuck=None):
    return {"calls": calls, "states": states, "stuck": stuck}


def part(verdict, calls, orders, key="", why="", initial=None):
    return {"key": key, "verdict": verdict, "why": why, "calls": calls, "initial": initial, "visited": 1234, "orders": orders}


def history(verdict, calls, parts, **more):
    return {"file": "runs/history.jsonl", "model": "cas-register", "verdict": verdict, "why": "", "left_out": 0, "calls": calls,
            "parts": parts, "not_begun": 0, "problems": [], **more}


def stale_read(key=""):
    """A read answers 2 when 3 has been read before. The second order does not come so far."""
    calls = [call(0, "write", 1, 1, 0, 3, key=key), call(1, "write", 2, 2, 1, 5, key=key), call(2, "read", None, 1, 2, 6, key=key),
             call(0, "cas", [2, 3], [2, 3], 4, 9, key=key), call(3, "write", 7, None, 7, None, "info", key), call(1, "cas", [9, 4], None, 8, 11, "fail", key),
             call(2, "read", None, 3, 10, 12, key=key), call(0, "read", None, 2, 13, 15, key=key), call(1, "write", 5, 5, 14, 16, key=key)]
    orders = [order([0, 2, 1, 3], [1, 1, 2, 3], 6), order([0, 2, 1, 3, 6], [1, 1, 2, 3, 3], 7)]
    return calls, part(NOT, [0, 1, 2, 3, 4, 6, 7, 8], orders, key)


def large(processes=50, rounds=40):
    """In each round all processes write, and only then they are answered. The last operation of all reads what nobody wrote."""
    calls = [call(process, "write", number, number, 2 * processes * turn + process, 2 * processes * turn + processes + process)
             for number, (turn, process) in enumerate((turn, process) for turn in range(rounds) for process in range(processes))]
    last = len(calls) - 1
    calls[last].update(f="read", asked=None, answered=-1)
    return history(NOT, calls, [part(NOT, list(range(len(calls))), [order(list(range(last)), list(range(last)), last)])])


def test_what_cannot_be_placed_is_named_and_red(tmp_path):
    calls, failing = stale_read()
    path = history_page(tmp_path / "history.html", history(NOT, calls, [failing], left_out=3))
    seen = look(path, HELP + """
        await page.waitForSelector(".history .operation");
        const colour = (what, name) => page.evaluate(([what, name]) => getComputedStyle(document.querySelector(what))[name], [what, name]);
        const bad = await page.evaluate(() => { const one = document.createElement("i"); one.style.color = "var(--bad)"; document.body.append(one); return getComputedStyle(one).color; });
        out.said = await text(".said-first");
        out.bars = await page.locator(".lanes .operation").count();
        out.rows = await all(".lanes .who");
        out.marks = await all(".lanes .place");
        out.red = [await colour(".lanes .operation.stuck", "color"), await colour(".step.stuck", "color"), await colour(".lanes .place.stuck", "backgroundColor")].map((one) => one === bad);
        out.stuck = await all(".lanes .operation.stuck");
        out.panel = await panel();
        out.steps = (await all(".step:not(.head)")).map((row) => row.split("\\n"));
        const over = async (number) => { await page.hover(`[data-call="${number}"]`); return panel(); };
        out.read = await over(6); out.failed = await over(5); out.info = await over(4);
        await page.mouse.move(5, 5);
        out.left = await panel();
        await page.focus('[data-call="7"]');
        await page.keyboard.press("ArrowDown");
        await page.waitForFunction(() => document.activeElement.dataset.call === "8");
        out.below = await panel();
        await page.keyboard.press("ArrowLeft");
        await page.waitForFunction(() => document.activeElement.dataset.call === "5");
        await page.locator(".step .open").nth(1).click();
        out.ofStep = await panel(); out.chosen = await all(".lanes .operation.chosen"); out.address = new URL(page.url()).hash;
        await page.selectOption(".over select", "0");
        out.second = await text(".reason"); out.marksOfSecond = await all(".lanes .place");
        return out;""")
    out = seen.result
    assert seen.errors == [] and seen.requests == [] and seen.console == []
    assert "runs/history.jsonl is not linearisable as cas-register." in out["said"], out
    assert "Process 0’s read → 2 (line 131) cannot be placed." in out["said"], out
    assert "has 5 of 8 operations, and the state behind the last of them is 3: there it cannot answer 2." in out["said"], out
    assert "9 operations of 4 processes. 1 failed. The outcome of 1 was never known. 3 events were left out" in out["said"] and "visited 1,234 sets of operations" in out["said"], out
    assert out["bars"] == 9 and out["rows"] == ["0", "1", "2", "3"], out
    assert sorted(out["marks"]) == ["1", "2", "3", "4", "5", "✗"] and out["red"] == [True] * 3 and out["stuck"] == ["read → 2"], out
    assert "Process 0: read → 2" in out["panel"] and "131" in out["panel"] and "it had to come next, and cannot" in out["panel"] and "3, in which it cannot answer 2" in out["panel"], out
    assert [row[0] for row in out["steps"]] == ["0", "1", "2", "3", "4", "5", "✗"], out
    assert out["steps"][5][1:] == ["2", "read → 3", "3"] and out["steps"][-1][1:] == ["0", "read → 2", "3: it cannot answer 2"], out
    assert "number 5 of 5 in the order" in out["read"] and "failed: it did nothing" in out["failed"] and "nobody knows whether it took effect" in out["info"], out
    assert out["left"] == out["panel"] and "Process 1: write 5" in out["below"] and "the order ends before it" in out["below"], out
    assert "Process 2: read → 1" in out["ofStep"] and "number 2 of 5" in out["ofStep"] and out["chosen"] == ["read → 1"] and out["address"].endswith("call=2"), out
    assert "Process 2’s read → 3 (line 101) cannot be placed" in out["second"] and sorted(out["marksOfSecond"]) == ["1", "2", "3", "4", "✗"], out


def test_keys_come_with_the_failing_one_first_and_checks_in_one_pass_with_their_problems(tmp_path):
    of_a = [call("5", "append", ["a", 1], None, 20, 22, key="a"), call("6", "read", None, [1], 21, 23, key="a")]
    of_b = [call(HOSTILE, "write", {"x": HOSTILE}, None, 30, 31, key=HOSTILE)]
    failing = stale_read("x")
    calls = [*of_a, *of_b, *failing[0]]
    shifted = failing[1] | {"calls": [3 + number for number in failing[1]["calls"]],
                            "orders": [order([3 + number for number in one["calls"]], one["states"], 3 + one["stuck"]) for one in failing[1]["orders"]]}
    parts = [part(YES, [0, 1], [order([0, 1], [[1], [1]])], "a", initial=[]), part(UNKNOWN, [2], [], HOSTILE, "the time was over"), shifted]
    keys = history_page(tmp_path / "keys.html", history(NOT, calls, parts, not_begun=2))
    whole = history_page(tmp_path / "whole.html", history(YES, of_a, [parts[0]]))
    unknown = history_page(tmp_path / "unknown.html", history(UNKNOWN, of_a, [part(UNKNOWN, [0, 1], [], "a", "the time was over")], why="the time was over"))
    problems = [{"text": "The element 3 was dequeued twice.", "lines": [41, 101]}, {"text": "The element 7 was lost.", "lines": [71, 99999]}]
    queue = history_page(tmp_path / "queue.html", history("problems", stale_read()[0], [], model="total-queue", problems=problems))
    good = history_page(tmp_path / "good.html", history("no problem", of_a, [], model="unique-ids"))
    seen = look("-", HELP + f"""
        await at({keys.as_uri()!r});
        out.parts = await all(".part"); out.reason = await text(".reason"); out.scope = await text(".said-first"); out.bars = await all(".lanes .operation");
        await page.click(".part b >> text='a'");
        out.ofA = await all(".lanes .operation"); out.panel = await text(".panel"); out.steps = await all(".step:not(.head)"); out.title = await all("h2");
        out.reasonOfA = await page.locator(".reason").count();
        await page.reload(); await page.waitForSelector(".history .operation");
        out.again = await all(".lanes .operation");
        await page.locator(".part button").nth(1).click();
        out.ofHostile = await all(".lanes .operation"); out.marksOfHostile = await page.locator(".lanes .place").count();
        out.hit = await page.evaluate(() => window.hit ?? "none");
        await at({whole.as_uri()!r}); out.whole = await text(".headline"); out.lists = await page.locator(".parts").count();
        await at({unknown.as_uri()!r}); out.unknown = await text(".headline");
        await at({good.as_uri()!r}); out.good = await text(".headline");
        await at({queue.as_uri()!r});
        const marked = () => page.locator(".lanes .operation.marked").evaluateAll((all) => all.map((one) => Number(one.dataset.call)).sort());
        out.queue = await text(".headline"); out.problems = await all(".problems li"); out.marked = await marked();
        await page.click("text=show only its operations >> nth=0"); out.markedOfFirst = await marked();
        await page.click(".problems .open >> text=71"); out.ofLine = await panel(); out.markedOfSecond = await marked();
        return out;""")
    out = seen.result
    assert seen.errors == [] and seen.requests == [] and out["hit"] == "none", vars(seen)
    assert [row.split()[:2] for row in out["parts"]] == [["✗", "x"], ["?", HOSTILE.split()[0]], ["✓", "a"]] and "not known: the time was over" in out["parts"][1], out
    assert out["reason"].startswith("Key x: Process 0’s read → 2 (line 131) cannot be placed.") and len(out["bars"]) == 9, out
    assert "2 other keys were not checked to the end" in out["scope"], out
    assert out["ofA"] == ['append ["a", 1]', "read → [1]"] == out["again"] and out["reasonOfA"] == 0 and "pointed at" in out["panel"], out
    assert len(out["steps"]) == 3 and "An order that explains the history, step by step" in out["title"], out
    assert out["ofHostile"] == ['write {"x": "%s"}' % HOSTILE] and out["marksOfHostile"] == 0, out
    assert out["whole"] == "✓ The history runs/history.jsonl is linearisable as cas-register." and out["lists"] == 0, out
    assert out["unknown"] == "? It is not known whether the history runs/history.jsonl is linearisable as cas-register: the time was over.", out
    assert out["good"] == "✓ The check unique-ids finds no problem in the history runs/history.jsonl.", out
    assert out["queue"] == "✗ The check total-queue finds 2 problems in the history runs/history.jsonl.", out
    assert "The element 3 was dequeued twice. lines 41, 101" in out["problems"][0] and "lines 71, 99999" in out["problems"][1], out
    assert out["marked"] == [3, 4, 6] and out["markedOfFirst"] == [3, 6] and out["markedOfSecond"] == [4] and "write 7" in out["ofLine"], out


def test_thousands_of_operations_are_shown_a_screen_at_a_time(tmp_path):
    path = history_page(tmp_path / "large.html", large())
    seen = look(path, HELP + f"""
        await page.waitForSelector(".lanes .operation.stuck");
        const inside = (what) => page.evaluate((what) => {{
          const box = document.querySelector(".lanes").getBoundingClientRect(), one = document.querySelector(what).getBoundingClientRect();
          return one.top >= box.top && one.bottom <= box.bottom + 1 && one.right > box.left && one.left < box.right;
        }}, what);
        const bars = () => page.locator(".lanes .operation").count();
        out.stuck = await inside(".lanes .operation.stuck"); out.bars = await bars(); out.said = await text(".said-first");
        out.size = await page.evaluate(() => {{ const box = document.querySelector(".lanes"); return [box.scrollHeight, box.scrollWidth > 5 * box.clientWidth]; }});
        await at({path.as_uri()!r} + "#part=0&order=0&call=777");
        await page.waitForSelector('[data-call="777"]');
        out.reached = await inside('[data-call="777"]'); out.panel = await panel();
        await page.evaluate(() => {{ const box = document.querySelector(".steps"); box.scrollTop = box.scrollHeight; }});
        await page.waitForSelector(".step.stuck");
        out.last = await all(".step.stuck"); out.rows = await page.locator(".step").count();
        await page.click(".step.stuck .open");
        await page.waitForSelector(".lanes .operation.stuck"); out.again = await inside(".lanes .operation.stuck");
        await page.click("text=all"); await page.waitForFunction((before) => document.querySelectorAll(".lanes .operation").length > before, out.bars);
        out.fits = await page.evaluate(() => {{ const box = document.querySelector(".lanes"); return box.scrollWidth <= box.clientWidth + 1; }});
        await page.click("text=readable"); await page.waitForFunction(() => document.querySelector(".lanes").scrollWidth > 5000);
        const before = await page.evaluate(() => document.querySelector(".lanes").scrollWidth);
        const box = await page.locator(".lanes").boundingBox();
        await page.mouse.move(box.x + 500, box.y + 100); await page.keyboard.down("Control"); await page.mouse.wheel(0, -200); await page.keyboard.up("Control");
        await page.waitForFunction((before) => document.querySelector(".lanes").scrollWidth > before, before);
        return out;""")
    out = seen.result
    assert seen.errors == [] and seen.requests == []
    assert "2,000 operations of 50 processes" in out["said"] and "Process 49’s read → -1" in out["said"] and "1,999 of 2,000" in out["said"], out
    assert out["stuck"] and 0 < out["bars"] < 500 and out["size"] == [50 * 36, True], out
    assert out["reached"] and "Process 27: write 777" in out["panel"] and "number 778 of 1,999" in out["panel"], out
    assert "776" in out["panel"].split("state before it")[1].split("state behind it")[0], out
    assert len(out["last"]) == 1 and "1998: it cannot answer -1" in out["last"][0] and out["rows"] < 100, out
    assert out["again"] and out["fits"], out


def test_nothing_stands_in_the_way_of_any_reader(tmp_path):
    """axe-core's rules, and what is off the screen, in light and dark, wide and narrow."""
    calls, failing = stale_read("x")
    wide = [call("a process with a long name", "write", ["a long text in a value " * 20], None, 40, 41, key="y")]
    both = history_page(tmp_path / "both.html", history(NOT, [*calls, *wide], [failing, part(YES, [9], [order([9], [wide[0]["asked"]])], "y")], file="a/path/that/is/long/" * 8,
                                                        problems=[{"text": "Something is wrong.", "lines": [41]}, {"text": "a word without blanks " + "x" * 200, "lines": []}]))
    seen = look("-", HELP + f"""
        await at({both.as_uri()!r});
        for (const [colorScheme, width, part] of [["light", 1280, "x"], ["light", 390, "y"], ["dark", 1280, "y"], ["dark", 390, "x"]]) {{
          await page.emulateMedia({{ colorScheme }}); await page.setViewportSize({{ width, height: 844 }});
          await page.click(`.part b >> text='${{part}}'`);
          out[[colorScheme, width, part]] = [await axe(), {OFF[:-1].strip().removesuffix(";")}];
        }}
        return out;""")
    assert seen.errors == [] and len(seen.result) == 4
    for name, (violations, (width, screen, off)) in seen.result.items():
        assert violations == [] and width <= screen and off == [], (name, seen.result)
