"""The live page: one number, the time that is left, what is tried now, findings as they come; and in the end the report."""
import json

import pytest

from browser import look, skip_without_a_page
from small_apps import PROBE, config, relay, url

pytestmark = pytest.mark.usefixtures("page")


@pytest.fixture
def page():
    skip_without_a_page()


def address_of(process):
    for line in process.stderr:
        if line.startswith("live: "):
            return line.split()[1]
    raise AssertionError("the run has no live page")


def test_it_says_how_far_it_is_what_it_tries_and_ends_as_the_report(project):
    """Each failing execution waits for a file: of the first one its replay, and the second one."""
    first, second = project.directory / "first", project.directory / "second"
    wait = lambda gate: f"until [ -e {gate} ]; do sleep 0.05; done"
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "home", "timeout": "120s",
          "command": f"{PROBE} 200 {url('front')} || {{ if [ -e began ]; then {wait(second)}; else touch began; {wait(first)}; fi; exit 1; }}"}],
        bounds={"reference_executions": 1}, faults=[{"on": {"service": "back"}, "inject": ["503", "500"]}]))
    process = project.start("run", "--max-time", "10m")
    seen = look(address_of(process), f"""
        await page.waitForFunction(() => document.querySelector(".trying")?.textContent.includes("status:503"));
        await page.evaluate("window.first = true");
        const out = {{tries: await page.locator(".trying").innerText(), left: await page.locator(".time-left").innerText(), numbers: []}};
        const fs = require("fs");
        out.counts = await page.locator(".counts").innerText();
        fs.writeFileSync({json.dumps(str(first))}, "");
        await page.waitForFunction(() => document.querySelector(".trying")?.textContent.includes("once more"));
        await page.waitForFunction(() => parseInt(document.querySelector(".percent")?.textContent) > 0);
        out.numbers.push(await page.locator(".percent").innerText(), await page.locator(".live progress").getAttribute("value"));
        fs.writeFileSync({json.dumps(str(second))}, "");
        await page.waitForSelector("#headline");
        await page.waitForFunction(() => document.querySelector("[role=status]").textContent.includes("ended"));
        await page.keyboard.press("4");
        await page.waitForSelector(".execution");
        out.executions = await page.locator(".execution").count();
        await page.keyboard.press("1");
        out.same = await page.evaluate("window.first");
        out.live = await page.locator(".live").innerText();
        out.report = await page.locator(".finding").innerText();
        out.axe = await axe();
        return out;""").result
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert seen["tries"].startswith("trying now: front -> back GET /: status:503"), seen
    minutes, _ = seen["left"].split()[0].split(":")
    assert 0 <= int(minutes) <= 10 and "--max-time" in seen["left"], seen
    assert "no finding so far" in seen["counts"]
    percent, executed = seen["numbers"]
    assert percent.endswith(" %") and int(executed) >= 2, seen
    assert seen["same"] is True, "the page is not loaded again"
    assert "trying" not in seen["live"] and "%" not in seen["live"] and str(project.root / "report.html") in seen["live"], seen
    assert seen["executions"] == 2 and seen["axe"] == [], "one for each fault"
    # The same opens from the file.
    filed = look(project.root / "report.html", "await page.waitForSelector('#headline'); return {finding: await page.locator('.finding').innerText(), live: await page.locator('.live').count()};")
    assert filed.result == {"finding": seen["report"], "live": 0} and filed.requests == []


def test_it_ends_with_the_environment_error_that_ends_the_session(project):
    gate = project.directory / "gate"
    project.write("filibuster.json", config(
        [relay("back"), {"name": "front", "command": f"until [ -e {gate} ]; do sleep 0.05; done; echo no settings; exit 5", "ports": ["front"],
                         "ready": {"timeout": "120s"}}],
        [{"name": "home", "command": f"{PROBE} 200 {url('front')}"}]))
    process = project.start("run")
    seen = look(address_of(process), f"""
        await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent.includes("running"));
        require("fs").writeFileSync({json.dumps(str(gate))}, "");
        await page.waitForSelector(".environment");
        await page.waitForFunction(() => document.querySelector("[role=status]").textContent.includes("ended"));
        return {{banner: await page.locator(".environment").innerText(), counts: await page.locator(".counts").innerText()}};""").result
    process.communicate(timeout=60)
    assert process.returncode == 3
    assert "'front' ended before it was ready (exit status 5)" in seen["banner"] and "no settings" in seen["banner"], seen
    assert "environment error" in seen["counts"] and "no finding" not in seen["counts"], seen
