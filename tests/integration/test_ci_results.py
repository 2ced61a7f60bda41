"""What a CI job reads of a run: JUnit XML, SARIF, the Markdown summary, the baseline of accepted findings, and what is
left when the time is over."""
import html
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as xml

import pytest

import documents
from conftest import FILIBUSTER, PYTHON, REPOSITORY, Project
from small_apps import APPS, config, pair, probe, relay, url

# Asks both of its services; forgets that prices may fail, and knows it of reviews.
SHOP = '''
import http.client, http.server, sys
def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=5)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        response.read()
        return response.status
    except OSError:
        return 0
    finally:
        connection.close()
def prices():
    return ask(sys.argv[2])
def reviews():
    return ask(sys.argv[3])
def answer():
    price = prices()
    review = reviews()
    return 200 if price == 200 else 500
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = answer() if self.path == "/" else 200
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
MOVED = "import json\n\n\n" + SHOP
MENDED = SHOP.replace("if price == 200 else 500", "if price >= 0 else 500")
WORSE = SHOP.replace("if price == 200 else 500", "if price == 200 and review == 200 else 500")
assert len({SHOP, MENDED, WORSE}) == 3


def shop(project, program=SHOP, name="checkout", **members):
    project.write("src/shop.py", program)
    front = {"name": "shop", "command": f"exec {PYTHON} src/shop.py ${{port:shop}} ${{port:prices}} ${{port:reviews}}",
             "ready": {"http": "/health"}}
    members = {"faults": [{"inject": ["503", "refused"]}], "baseline": "accepted.json", **members}
    project.write("filibuster.json", config([relay("prices"), relay("reviews"), front],
                                            [probe(url("shop"), expected="200", name=name)], **members))


def on(day):
    return {"FILIBUSTER_TODAY": day}


def accept(project, *arguments, because="the new client knows it", until="2030-01-31", day="2030-01-01"):
    return project.filibuster("accept", *arguments, "--because", because, "--until", until, env=on(day))


def cases(project):
    """Of the only suite: what became of each case, by its name."""
    root = documents.junit((project.root / "junit.xml").read_text())
    return {case.get("name"): case[0].tag if len(case) else "passed" for case in root.iter("testcase")}


def named(project, *parts):
    return sorted(state for name, state in cases(project).items() if all(part in name for part in parts))


# --- documents ----------------------------------------------------------------------------------

def test_each_rpc_with_each_fault_is_a_case_whose_name_survives_an_edit(project):
    shop(project)
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    before = cases(project)
    assert named(project, "shop -> prices") == ["failure"] * 2, before
    assert named(project, "shop -> reviews") == ["passed"] * 2, before
    assert before["without faults"] == before["every execution allows a conclusion"] == "passed"
    ids = {finding["id"] for finding in run.test["findings"]}
    assert {re.search(r"\[(\w{16})\]$", name)[1] for name, state in before.items() if state == "failure"} == ids
    assert {row["id"] for row in run.test["cases"] if row["state"] == "failed"} == ids, run.test["cases"]
    failure = xml.fromstring((project.root / "junit.xml").read_text()).find(".//testcase[failure]")
    assert failure.get("file") == "src/shop.py" and failure.get("classname") == "checkout"
    assert "filibuster replay " in failure.find("failure").text
    # The lines have moved: execution indexes are others, and names are not.
    shop(project, MOVED)
    again = project.filibuster("run")
    assert again.exit_code == 1 and cases(project) == before, again
    indexes = [[rpc["index"] for rpc in report.test["reference"]] for report in (run, again)]
    assert indexes[0] == indexes[1], "the same report file is read twice"
    moved = xml.fromstring((project.root / "junit.xml").read_text()).find(".//testcase[failure]")
    assert int(moved.get("line")) == int(failure.get("line")) + 3


def test_a_fault_that_fails_only_with_another_is_a_case_of_its_own(project):
    shop(project, SHOP.replace("if price == 200 else", "if price == 200 or review == 200 else"))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    assert {len(finding["faults"]) for finding in run.test["findings"]} == {2}, run
    together = [name for name, state in cases(project).items() if state == "failure"]
    assert len(together) == len(run.test["findings"]) and all(" + " in name for name in together), together
    assert named(project, "shop -> reviews", ": refused [") == named(project, "shop -> prices", ": refused [")


def test_sarif_names_call_sites_relative_to_where_the_command_ran(project):
    shop(project)
    run = project.filibuster("run", "-c", project.directory / "filibuster.json", cwd=project.directory / "src")
    assert run.exit_code == 1, run
    found = documents.sarif((project.root / "report.sarif").read_text())["results"]
    assert {result["ruleId"] for result in found} == {"failed"}
    line = SHOP.splitlines().index('        connection.request("GET", "/")') + 1
    for result, finding in zip(found, run.test["findings"], strict=True):
        physical = result["locations"][0]["physicalLocation"]
        assert physical == {"artifactLocation": {"uri": "shop.py", "uriBaseId": "SRCROOT"}, "region": {"startLine": line}}
        frames = [frame["location"]["logicalLocations"][0]["name"] for frame in result["stacks"][0]["frames"]]
        assert frames[:3] == ["ask", "prices", "answer"], frames
        assert result["partialFingerprints"] == {"filibusterFinding/v1": finding["id"]}


def test_the_summary_shows_findings_and_how_to_replay_them(project):
    shop(project)
    run = project.filibuster("run", "--markdown", "page.md")
    text = (project.directory / "page.md").read_text()
    assert text == (project.root / "summary.md").read_text()
    assert text.startswith("# Filibuster: 2 findings fail\n") and f"| checkout | {run.executed} | 2 | 0 | 2 | 0 | 0 |" in text
    assert "filibuster replay" in text and "expected one of" in text, text


def test_documents_are_written_where_the_user_says(project):
    shop(project)
    run = project.filibuster("run", "--junit", "out.xml", "--sarif", project.directory / "out.sarif", "--json")
    assert run.exit_code == 1, run
    assert (project.directory / "out.xml").read_text() == (project.root / "junit.xml").read_text()
    assert (project.directory / "out.sarif").read_text() == (project.root / "report.sarif").read_text()
    found = [event for event in documents.events(run.output) if event["type"] == "finding"]
    assert {event["id"] for event in found} == {finding["id"] for finding in run.test["findings"]}
    assert not any(event["accepted"] for event in found)


def test_a_session_that_does_not_begin_is_an_error_in_every_document(project):
    shop(project, "raise SystemExit('no license for <shop> & \\x1b[31mmore')")
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    error = xml.fromstring((project.root / "junit.xml").read_text()).find(".//error")
    assert "'shop'" in error.get("message") and "no license for <shop> & \ufffd[31m" in error.text
    sarif = json.loads((project.root / "report.sarif").read_text())["runs"][0]
    assert sarif["invocations"][0]["executionSuccessful"] is False and sarif["results"] == []
    assert "did not come to its end" in (project.root / "summary.md").read_text()
    assert "'shop'" in run.report["error"]


HOSTILE = "a \"b\" 'c' <d>&amp; ]]> | `x` *y* [z](w)\n# \u00e9"


def test_names_with_quotes_tags_and_newlines_leave_every_document_valid(project):
    shop(project, name=HOSTILE)
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.test["test"] == HOSTILE, run
    suite = documents.junit((project.root / "junit.xml").read_text())[0]
    assert suite.get("name") == HOSTILE.replace("\n", " ")
    assert {result["properties"]["test"] for result in documents.sarif((project.root / "report.sarif").read_text())["results"]} == {HOSTILE}
    (row,) = [line for line in (project.root / "summary.md").read_text().splitlines() if line.startswith("| a ")]
    assert row.count("|") == 8, row
    accepted = accept(project, *[finding["id"] for finding in run.test["findings"]], because=HOSTILE)
    assert accepted.exit_code == 0, accepted
    again = project.filibuster("run", env=on("2030-01-01"))
    assert again.exit_code == 0 and {finding["because"] for finding in again.test["findings"]} == {HOSTILE}, again


# --- the baseline -------------------------------------------------------------------------------

def test_what_is_accepted_does_not_fail_until_its_day_is_over(project):
    shop(project)
    first = project.filibuster("run", env=on("2030-01-01"))
    assert first.exit_code == 1 and "the file is not there yet" in first.output, first
    accepted = accept(project, *[finding["number"] for finding in first.test["findings"]])
    assert accepted.exit_code == 0, accepted
    baseline = json.loads((project.directory / "accepted.json").read_text())
    documents.check("baseline", baseline)
    assert {row["finding"] for row in baseline["accepted"]} == {finding["id"] for finding in first.test["findings"]}
    shop(project, MOVED)  # the edit moves the calls, and what is accepted stays so
    last_day = project.filibuster("run", env=on("2030-01-31"))
    assert last_day.exit_code == 0, last_day
    assert {(finding["standing"], finding["until"]) for finding in last_day.test["findings"]} == {("accepted", "2030-01-31")}
    assert "accepted until 2030-01-31: the new client knows it" in last_day.output
    assert named(project, "shop -> prices") == ["skipped"] * 2
    assert all(result["suppressions"] for result in documents.sarif((project.root / "report.sarif").read_text())["results"])
    assert "2 findings, all accepted" in (project.root / "summary.md").read_text()
    day_after = project.filibuster("run", env=on("2030-02-01"))
    assert day_after.exit_code == 1, day_after
    assert {finding["standing"] for finding in day_after.test["findings"]} == {"expired"}
    assert "which is over" in day_after.output and named(project, "shop -> prices") == ["failure"] * 2


def test_only_what_is_new_fails(project):
    shop(project)
    first = project.filibuster("run")
    assert accept(project, *[finding["id"] for finding in first.test["findings"]]).exit_code == 0
    shop(project, WORSE)
    run = project.filibuster("run", env=on("2030-01-01"))
    assert run.exit_code == 1, run
    standing = {finding["faults"][0]["service"]: finding["standing"] for finding in run.test["findings"]}
    assert standing == {"prices": "accepted", "reviews": "new"}
    assert named(project, "shop -> reviews") == ["failure"] * 2 and named(project, "shop -> prices") == ["skipped"] * 2


def test_what_is_mended_is_named(project):
    shop(project)
    first = project.filibuster("run")
    ids = sorted(finding["id"] for finding in first.test["findings"])
    assert accept(project, *ids).exit_code == 0
    shop(project, MENDED)
    run = project.filibuster("run", env=on("2030-01-01"))
    assert run.exit_code == 0 and run.test["findings"] == [], run
    assert [(row["finding"], row["state"]) for row in run.report["baseline"]["accepted"]] == [(id, "not found") for id in ids]
    assert "not found any more" in run.output and ids[0] in run.output
    # An exploration that does not come to its end cannot say so.
    bounded = project.filibuster("run", "--max-executions", "1", env=on("2030-01-01"))
    assert {row["state"] for row in bounded.report["baseline"]["accepted"]} == {"not looked for"}, bounded


def test_the_first_new_failure_stops_and_an_accepted_one_does_not(project):
    shop(project, WORSE)
    first = project.filibuster("run")
    prices = [finding["id"] for finding in first.test["findings"] if finding["faults"][0]["service"] == "prices"]
    reviews = [finding["id"] for finding in first.test["findings"] if finding["faults"][0]["service"] == "reviews"]
    assert accept(project, *reviews).exit_code == 0
    run = project.filibuster("run", "--stop-at-first", env=on("2030-01-01"))
    new = [finding["id"] for finding in run.test["findings"] if finding["standing"] == "new"]
    assert run.exit_code == 1 and len(new) == 1 and new[0] in prices, run
    assert project.filibuster("run").exit_code == 1  # the last report has all of them again
    assert accept(project, *prices).exit_code == 0
    run = project.filibuster("run", "--stop-at-first", env=on("2030-01-01"))
    assert run.exit_code == 0 and run.test["finished"] and len(run.test["findings"]) == 4, run


@pytest.mark.parametrize("text, place, message", [
    ('{"version": 2, "accepted": {}}', ":1:13: ", "version 1 only"),
    ('{"version": 1, "accepted": [', ":1:", ""),
    ('{"version": 1, "accepted": [{"finding": "0123456789abcdef"}]}', ":1:29: ", "needs 'test'"),
    ("", ":1:1: ", ""),
], ids=["another version", "cut off", "a row", "empty"])
def test_a_baseline_that_is_not_valid_is_named_and_nothing_is_started(project, text, place, message):
    shop(project)
    path = project.write("accepted.json", text)
    for run in (project.filibuster("run"), accept(project, "1")):
        assert run.exit_code == 2 and f"{path}{place}" in run.errors and message in run.errors, run
    assert not (project.root / "report.json").exists() and path.read_text() == text


def test_a_baseline_that_cannot_be_read_accepts_nothing_silently(project):
    shop(project)
    (project.directory / "accepted.json").mkdir()
    run = project.filibuster("run")
    assert run.exit_code == 2 and "accepted.json: the baseline cannot be read" in run.errors, run


def test_accept_says_what_is_wrong_and_leaves_the_baseline(project):
    shop(project)
    missing = accept(project, "1")
    assert missing.exit_code == 2 and "report.json" in missing.errors, missing
    run = project.filibuster("run")
    number, id = run.test["findings"][0]["number"], run.test["findings"][0]["id"]
    for arguments, options, message in [
            (["77"], {}, f"there is no finding '77'"),
            ([number], {"until": "2029-12-31"}, "that day is over"),
            ([number], {"until": "tomorrow"}, "expected a day"),
            ([number], {"because": " "}, "expected the reason"),
            ([number], {"day": "x"}, "FILIBUSTER_TODAY"),
            ([number, "-c", "absent.json"], {}, "absent.json")]:
        refused = accept(project, *arguments, **options)
        assert refused.exit_code == 2 and message in refused.errors, refused
    assert f"{number} ({id})" in accept(project, "77").errors
    assert not (project.directory / "accepted.json").exists()
    shop(project, baseline="no/such/folder/accepted.json")
    nowhere = accept(project, number)
    assert nowhere.exit_code == 3 and "no/such/folder/accepted.json" in nowhere.errors, nowhere
    document = json.loads((project.directory / "filibuster.json").read_text())
    del document["baseline"]
    project.write("filibuster.json", document)
    without = accept(project, number)
    assert without.exit_code == 2 and '"baseline": "accepted.json"' in without.errors, without
    assert accept(project, number, "--baseline", "other.json").exit_code == 0
    again = accept(project, number, "--baseline", "other.json", until="2031-01-01")
    assert "it was accepted already" in again.output, again
    (row,) = json.loads((project.directory / "other.json").read_text())["accepted"]
    assert (row["finding"], row["until"]) == (id, "2031-01-01")


# --- time ---------------------------------------------------------------------------------------

def executed_faults(run):
    return [event["faults"] for event in documents.events(run.output) if event["type"] == "execution"]


def test_single_faults_come_first_and_what_is_left_is_listed(project):
    shop(project, MENDED)
    whole = project.filibuster("run", "--no-reduction")
    assert whole.exit_code == 0 and whole.executed == 9, whole
    assert whole.test["left"] == [] and whole.test["time_over"] is False
    # The reference execution and four single faults; then the time is over.
    run = project.filibuster("run", "--no-reduction", "--max-time", "1h", "--json", env={"FILIBUSTER_TIME_UP_AFTER": "5"})
    assert run.exit_code == 4 and run.report["exit_code"] == 4, run
    assert [len(faults) for faults in executed_faults(run)] == [1] * 4
    assert run.test["time_over"] and not run.test["finished"] and run.test["counts"]["open"] == 4
    assert sum(row["executions"] for row in run.test["left"]) == 4 and not any(row["alone"] for row in run.test["left"])
    assert {row["state"] for row in run.test["cases"]} == {"passed"}
    assert "left when the time was over" in (project.root / "summary.md").read_text().lower()
    rest = project.filibuster("run", "--no-reduction", "--max-time", "1h")
    assert rest.exit_code == 0 and rest.executed == 9 and rest.test["finished"], rest


def test_single_faults_that_are_left_are_told_apart(project):
    shop(project, MENDED)
    run = project.filibuster("run", "--max-time", "1h", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert run.exit_code == 4, run
    command = f"{FILIBUSTER} run --root {shlex.quote(str(project.root))} --max-time 1h"
    # The test's own call has no fault. One call of the shop has had one.
    assert "1 of 2 places without any fault, 3 single faults, 2 pairs\n" in run.output, run
    assert run.output.count(command) == 1 and run.report["command"] == command, run
    assert command in html.unescape((project.root / "summary.md").read_text())
    assert sum(row["alone"] for row in run.test["left"]) == 3
    untried, tried = run.test["left_places"]
    assert run.test["places"] == {"known": 2, "tried": 1} and tried["tried"] and not untried["tried"], run.test
    assert (len(untried["singles"]), len(tried["singles"])) == (2, 1) and untried["pairs"] == 2, run.test
    assert (tried["pairs"], tried["more"], untried["more"]) == (0, 0, 0), run.test
    assert sorted(row["state"] for row in run.test["cases"]) == ["passed", "skipped", "skipped", "skipped"]
    assert named(project, "shop -> ", ": ").count("skipped") == 3


def test_the_progress_and_the_last_lines_count_the_same_places(project):
    # reviews are asked for only where prices fail: that place is known after the first fault, and comes in pairs alone.
    shop(project, MENDED.replace("review = reviews()", "review = 200 if price == 200 else reviews()"))
    run = project.filibuster("run", "--max-time", "1h", "--json", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    events = documents.events(run.output)
    (seen,) = [(event["places"], event["places_tried"]) for event in events if event["type"] == "execution"]
    assert seen == (2, 1) and run.test["places"] == {"known": 2, "tried": 1}, run
    assert "1 of 2 places without any fault, 1 single fault, 2 pairs\n" in events[-1]["summary"], run
    (untried, tried) = run.test["left_places"]
    assert untried["service"] == "reviews" and untried["singles"] == [] and untried["pairs"] == 2 and not untried["tried"], run
    rest = project.filibuster("run", "--json")
    last = [event for event in documents.events(rest.output) if event["type"] == "execution"][-1]
    assert (last["places"], last["places_tried"]) == (2, 2) and rest.test["places"] == {"known": 2, "tried": 2}, rest


def test_findings_of_the_earlier_report_are_tried_first(project):
    shop(project, SHOP.replace("price == 200", "price in (200, 503)"))
    first = project.filibuster("run", "--json")
    (found,) = first.test["findings"]
    assert found["faults"][0]["fault"] == "refused" and found["faults"][0]["service"] == "prices", first
    assert "prices" in executed_faults(first)[0][0] and "503" in executed_faults(first)[0][0], "the first fault of the first call site"
    run = project.filibuster("run", "--max-time", "1h", "--json", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert run.exit_code == 1, run
    ((fault,),) = executed_faults(run)
    assert "prices" in fault and "refused" in fault, run


def test_calls_of_changed_files_are_tried_first(project):
    two = [relay("a"), relay("b")]
    for name in ("one", "two"):
        shutil.copy(APPS / "relay.py", project.directory / f"{name}.py")
    two += [{"name": "left", "command": f"exec {PYTHON} one.py ${{port:left}} --call {url('a')}"},
            {"name": "right", "command": f"exec {PYTHON} two.py ${{port:right}} --call {url('b')}"}]
    project.write("filibuster.json", config([*two, relay("front", "left", "right")],
                                            [probe(url("front"), expected="200,500,502,503")], faults=[{"inject": "503"}]))
    options = ("run", "--max-time", "1h", "--json")
    first = project.filibuster(*options, "--restart-session", "--changed", "src/other.py\none.py\n", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert first.exit_code == 4 and [faults[0].split(":")[0] for faults in executed_faults(first)] == ["left -> a GET /"], first
    (project.root / "report.json").unlink()
    whole = project.filibuster("run", "--json", "--restart-session", "--changed", "two.py")
    assert executed_faults(whole)[0][0].startswith("right -> b GET /"), whole
    # Without the option: the file that has changed since the last exploration of this test.
    with open(project.directory / "two.py", "a") as program:
        program.write("# edited\n")
    second = project.filibuster(*options, env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert second.exit_code == 4 and [faults[0].split(":")[0] for faults in executed_faults(second)] == ["right -> b GET /"], second


def test_the_tests_that_the_time_does_not_suffice_for_are_listed(project):
    shop(project, MENDED)
    run = project.filibuster("run", "--max-time", "1ms")
    assert run.exit_code == 4, run
    assert run.test["time_over"] and run.test["counts"]["executed"] == 0
    assert "left: all of it" in run.output and cases(project)["without faults"] == "skipped"


@pytest.mark.parametrize("time", ["soon", "-5m", "0", "10 parsecs"])
def test_a_time_that_is_none_is_refused(project, time):
    shop(project)
    run = project.filibuster("run", f"--max-time={time}")
    assert run.exit_code == 2 and "--max-time" in run.errors, run


def test_the_time_may_stand_in_the_configuration(project):
    shop(project, MENDED, bounds={"max_time": "1h"})
    run = project.filibuster("run", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert run.exit_code == 4 and run.executed == 2, run


# --- reports that cannot be written -------------------------------------------------------------

def test_a_report_that_cannot_be_written_is_kept_elsewhere_and_does_not_pass(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shop(project, MENDED)
    (project.root / "report.json" / "in the way").mkdir(parents=True)
    run = project.filibuster("run", env={"TMPDIR": str(elsewhere)})
    assert run.exit_code == 3, run
    assert f"cannot write {project.root}/report.json" in run.errors, run
    (folder,) = elsewhere.glob("filibuster-report-*")
    assert str(folder) in run.errors and folder.stat().st_mode & 0o77 == 0
    documents.check("report", json.loads((folder / "report.json").read_text()))
    assert {path.name for path in folder.iterdir()} == {"report.json", "junit.xml", "report.sarif", "summary.md"}
    shop(project)
    found = project.filibuster("run", env={"TMPDIR": str(tmp_path_factory.mktemp("x") / "absent")})
    assert found.exit_code == 1 and "finding 1: " in found.output and "shop -> prices" in found.output, found


@pytest.mark.parametrize("program, code", [(SHOP, 1), (MENDED, 3)], ids=["with findings", "without"])
def test_a_full_device_is_named_and_does_not_hide_what_was_found(project, program, code):
    shop(project, program)
    run = project.filibuster("run", "--junit", "/dev/full", "--sarif", "no/such/folder/x", "--markdown", "page.md")
    assert run.exit_code == code, run
    assert "--junit: cannot write /dev/full: No space left on device" in run.errors, run
    assert "--sarif: cannot write no/such/folder/x" in run.errors, run
    assert (project.directory / "page.md").exists() and (project.root / "junit.xml").exists()


# --- privileges, recipes ------------------------------------------------------------------------

@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED, a run without privileges: this is one already, or cannot drop them")
def test_a_run_needs_no_privileges():
    """As nobody, without a capability and without a way to get one."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unprivileged-"))
    try:
        project = Project(folder)
        shop(project)
        os.chmod(folder, 0o755)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
        run = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
             "--no-new-privs", FILIBUSTER, "run"], cwd=folder, capture_output=True, text=True, timeout=120,
            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
        assert run.returncode == 1, run
        report = json.loads((folder / ".filibuster" / "report.json").read_text())
        documents.check("report", report)
        assert len(report["tests"][0]["findings"]) == 2 and report["tests"][0]["finished"], run
    finally:
        shutil.rmtree(folder)


def test_the_recipes_use_options_that_there_are():
    text = (REPOSITORY / "docs" / "ci.md").read_text()
    commands = re.findall(r"^\s*(?:- |run: )?(?:\S+=\S+ )*(filibuster [a-z][^\n|]*)", text, re.M)
    assert len(commands) >= 5, commands
    for command in commands:
        verb, *words = command.split()[1:]
        help_text = subprocess.run([FILIBUSTER, verb, "--help"], capture_output=True, text=True, check=True).stdout
        for option in re.findall(r"--[a-z][a-z-]*", " ".join(words)):
            assert option in help_text or option in ("--name-only",), f"{option} of `{command}`"
