"""What varies from run to run is found, shown, masked field by field, and faults still hit what they mean."""
import json
import re
import signal

import pytest

import pairs
from conftest import PYTHON, wait_until
from small_apps import APPS, config, probe, relay, url


def vary(name, *kinds, back=None, answer="fixed", counter=None):
    options = "".join(f" --make {kind}" for kind in kinds)
    options += f" --back {url(back, '')}" if back else ""
    options += f" --answer {answer}" + (f" --counter {counter}" if counter else "")
    return {"name": name, "command": f"exec {PYTHON} {APPS}/vary.py ${{port:{name}}}{options}"}


def application(*kinds, answer="fixed", counter=None, expected="200,503", **members):
    return config([vary("back", answer=answer), vary("front", *kinds, back="back", counter=counter)],
                  [probe(url("front"), expected=expected)], **members)


def explore(project, *kinds, options=(), exit_code=0, **members):
    project.write("filibuster.json", application(*kinds, **members))
    run = project.filibuster("run", "--fault", "503", *options)
    assert run.exit_code == exit_code, run
    return run


def varied(run):
    return {(row["rpc"], row["what"], row["effect"]) for row in run.test["nondeterminism"]["varied"]}


def proposed(run):
    """{"POST /orders/*/items": mask}"""
    return {f"{rule['on']['method']} {rule['on']['path']}": rule["mask"]
            for rule in run.test["nondeterminism"]["proposed"]}


def is_whole(run, executed):
    assert run.test["finished"] and run.executed == executed, run
    assert run.test["skipped"] == [] and run.test["without_cause"] == [], run


def test_nothing_is_masked_where_nothing_varies(project):
    run = explore(project, "plain", "plain")
    is_whole(run, 4)
    assert run.test["nondeterminism"] == {"reference_executions": 2, "varied": [], "proposed": []}
    assert "varied" not in run.output, run


@pytest.mark.parametrize("kind, on, mask", [
    ("path", "POST /orders/*/items", {"path": [2]}),
    ("query", "GET /list", {"query": ["ts"]}),
    ("json", "POST /events", {"json": ["/id", "/items/*/created"]}),
    ("chunked", "POST /stream", {"json": ["/id", "/items/*/created"]}),
    ("form", "POST /login", {"form": ["token"]}),
])
def test_what_varies_is_masked_field_by_field_and_explored(project, kind, on, mask):
    run = explore(project, kind, "plain")
    is_whole(run, 4)
    assert proposed(run) == {on: mask}, run
    assert {effect for _, _, effect in varied(run)} == {"masked"}, run


BRANCHES = """
import http.server, itertools, sys, urllib.error, urllib.request
turn = itertools.count()
def get(path):
    return urllib.request.urlopen(sys.argv[2] + path, timeout=5).status
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = 200
        try:
            if next(turn) % 2 == 0:
                get("/cache/hit")
            else:
                get("/cache/miss")
        except urllib.error.HTTPError:
            status = 503
        self.send_response(status)
        self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_two_call_sites_are_never_taken_for_one(project):
    project.write("front.py", BRANCHES)
    front = {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} http://127.0.0.1:${{port:back}}"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--fault", "503")
    # Which of the two comes next is anybody's guess: neither is faulted, and nothing is masked.
    assert run.exit_code == 3 and proposed(run) == {}, run
    assert run.test["nondeterminism"]["varied"] != [], run
    assert {effect for _, _, effect in varied(run)} == {"not faulted"}, run


def test_without_a_second_reference_execution_it_is_found_when_a_plan_is_not_met(project):
    run = explore(project, "path", "plain", options=["--reference-executions", "1"])
    is_whole(run, 4)
    assert proposed(run) == {"POST /orders/*/items": {"path": [2]}}, run


def test_the_proposed_rules_can_be_written_into_the_configuration(project):
    first = explore(project, "path", "query", "json", "form", answer="json")
    is_whole(first, 16)
    rules = first.test["nondeterminism"]["proposed"]
    assert "what `nondeterminism.proposed` of report.json has" in first.output, first  # they are too long for a screen
    short = explore(project, "path")
    text = short.output[short.output.index('"nondeterminism": ') + len('"nondeterminism": '):]
    assert json.JSONDecoder().raw_decode(text)[0] == short.test["nondeterminism"]["proposed"] != []
    again = explore(project, "path", "query", "json", "form", answer="json", nondeterminism=rules)
    is_whole(again, 16)
    assert proposed(again) == {}, again
    # With the masks in place nothing needs a second look.
    once = explore(project, "path", "query", "json", "form", answer="json", nondeterminism=rules,
                   options=["--reference-executions", "1"])
    is_whole(once, 16)


# In what is sent with the head, and in what the program itself repeats; how each kind is masked is above.
@pairs.only("kinds", ["['path', 'json']", "['loop']"])
@pytest.mark.parametrize("kinds", [["path", "json"], ["query"], ["form"], ["loop"], ["chunked"]])
def test_findings_replay(project, kinds):
    run = explore(project, *kinds, expected="200", exit_code=1)
    assert run.test["finished"] and run.test["skipped"] == [], run
    for finding in run.test["findings"]:
        assert finding["reproduced"] is True, run
        replay = project.filibuster("replay", finding["counterexample"])
        assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_the_report_keeps_the_values(project):
    run = explore(project, "path")
    (rpc,) = [rpc for rpc in run.test["reference"] if rpc["service"] == "back"]
    assert len(rpc["path"].split("/")[2]) == 36, rpc


def test_calls_that_differ_only_in_what_varies_are_told_apart_by_their_order(project):
    run = explore(project, "loop")
    is_whole(run, 8)  # three calls, each with and without the fault
    assert proposed(run) == {"GET /item/*/x": {"path": [2]}}


def test_concurrent_calls_that_differ_need_no_mask(project):
    run = explore(project, "threads", options=["--max-faults", "1"])
    assert run.executed == 7 and proposed(run) == {}, run
    assert run.test["skipped"] == [{"what": row["what"], "reason": "bound max_faults 1"}
                                   for row in run.test["skipped"]], run


def test_concurrent_calls_that_nothing_tells_apart_are_not_faulted(project):
    run = explore(project, "alike", "plain", exit_code=3)
    assert proposed(run) == {} and run.executed == 2, run
    (left_out,) = run.test["without_cause"]
    assert left_out.startswith("front -> back GET /item/*/x: ") and "concurrent" in left_out, run
    assert {effect for _, _, effect in varied(run)} == {"not faulted"} | (
        {"none"} if any(what.startswith("the order") for _, what, _ in varied(run)) else set()), run


def test_without_the_payload_concurrent_calls_are_not_faulted_by_their_order(project):
    project.write("filibuster.json", config(
        [vary("back"), vary("front", "spread", back="back")], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--fault", "503", "--index-without", "payload")
    assert run.exit_code == 3 and run.executed == 1, run
    assert any("payload is switched off" in row["reason"] for row in run.test["nondeterminism"]["varied"]), run


def test_a_mask_that_hides_what_tells_calls_apart_is_refused(project):
    run = explore(project, "mixed", exit_code=3)
    # Two users are always the same, the third never: a mask of the segment would merge all three.
    assert proposed(run) == {}, run
    assert run.executed == 4, run
    (left_out,) = run.test["without_cause"]
    assert "GET /user/*/x" in left_out and "merge" in left_out and "path segment 2" in left_out, run


def test_a_configured_mask_that_is_too_broad_is_an_error(project):
    rule = {"on": {"service": "back", "path": "/part/*"}, "mask": {"path": [2]}}
    run = explore(project, "threads", nondeterminism=[rule], exit_code=3)
    assert "too broad" in run.errors and "would merge" in run.errors and "path segment 2" in run.errors, run


@pytest.mark.parametrize("kind, what", [("whole", "whole path"), ("text", "body")])
def test_what_no_mask_covers_is_not_faulted(project, kind, what):
    run = explore(project, kind, "plain", exit_code=3)
    assert run.executed == 2 and run.test["finished"] and proposed(run) == {}, run
    assert [row for row in run.test["nondeterminism"]["varied"]
            if row["effect"] == "not faulted" and what in row["what"] + row["reason"]], run
    assert len(run.test["without_cause"]) == 1, run


def test_a_call_that_comes_and_goes_is_faulted_where_it_comes(project):
    run = explore(project, "sometimes", "plain", counter=project.directory / "count")
    assert run.test["finished"] and run.test["skipped"] == [] and run.test["without_cause"] == [], run
    # It alone, the other one alone, and both: in every second execution.
    assert {tuple(sorted(fault["path"] for fault in finding["faults"])) for finding in run.test["findings"]} == set(), run
    assert run.executed == 4 and "front -> back GET /refresh" in run.test["rpcs"]["tested"], run
    ((rpc, what, effect),) = varied(run)
    seen = re.fullmatch(r"seen in (\d+) of (\d+) executions", what)
    assert rpc == "front -> back GET /refresh" and effect == "faulted where it comes" and seen, run
    assert 4 <= int(seen[1]) < int(seen[2]) and '"restart": "each"' in run.output, run


@pytest.mark.parametrize("kind, path, why, is_tested", [
    ("cached", "/product", "a cache", False), ("queued", "/queue", "a counter, a queue", True)])
def test_what_only_the_first_execution_makes_or_lacks_is_told_with_its_likely_reason(project, kind, path, why, is_tested):
    run = explore(project, kind, "plain", counter=project.directory / "count", exit_code=0 if is_tested else 3)
    call = f"front -> back GET {path}"
    ((rpc, what, _),) = varied(run)
    assert rpc == call and re.fullmatch(r"seen in \d+ of \d+ executions", what), run
    assert what.startswith("seen in 1 of ") != is_tested, run
    (row,) = run.test["nondeterminism"]["varied"]
    assert why in row["reason"] and '"restart": "each"' in run.output, run
    assert (call in run.test["rpcs"]["tested"]) == is_tested, run
    if is_tested:
        assert run.executed == 4, run
        return
    assert run.executed == 2 and run.test["finished"] and run.test["skipped"] == [], run
    assert run.test["without_cause"] == [f"{call}: {what}: {row['reason']}"], run


def test_what_the_first_execution_alone_makes_is_listed_though_masks_follow_it(project):
    """The comparison after the masks has not seen the first execution."""
    run = explore(project, "json", "cached", "plain", counter=project.directory / "count", exit_code=3)
    ((rpc, reason),) = [row.values() for row in run.test["rpcs"]["untested"]]
    assert rpc == "front -> back GET /product" and run.test["without_cause"] == [f"{rpc}: {reason}"], run
    assert reason.startswith("seen in 1 of 4 executions without faults: the first execution alone makes it"), run
    warnings = [line for line in run.errors.splitlines() if line.startswith("warning: ")]
    masked, kept = warnings
    assert re.match(r"warning: \d values that vary from run to run take no part in telling calls apart, in 1 call \(front -> back POST /events: ",
                    masked), run
    assert kept.startswith("warning: 1 call was made in some of the 4 executions without faults and not in the others"), run
    assert re.search(rf"^  {rpc}, at \S+vary\.py:\d+ \(call\): {re.escape(reason)}$", run.errors, re.M), run
    assert '\nin the row of front:\n"restart": "each"\n' in run.errors, run
    project.write("filibuster.json", application("json", "cached", "plain", counter=project.directory / "count"))
    again = project.filibuster("run", "--fault", "503")
    assert "made in some of" not in again.errors and again.test["rpcs"]["untested"] == [], "the cache is full"


# The answer that a mask helps is the usual one.
@pairs.only("answer", ["json"])
@pytest.mark.parametrize("answer, effect", [
    ("json", "masked"), ("text", "the answer counts by its status alone")])
def test_answers_that_vary_do_not_stop_the_reduction(project, answer, effect):
    """middle calls back twice; that it answers 200 in spite of everything is seen by front."""
    project.write("filibuster.json", config(
        [vary("back"), vary("middle", "plain", back="back", answer=answer),
         vary("front", "plain", "plain", back="middle")],
        [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--fault", "503", "--reduce", "published")
    assert run.exit_code == 0 and run.test["finished"], run
    executed, notes = run.executed, run.test["notes"]  # the next run writes the report anew
    assert effect in {effect for _, _, effect in varied(run)}, run
    without = project.filibuster("run", "--fault", "503", "--no-reduction")
    assert without.executed > executed, (run, without)
    project.write("filibuster.json", config(
        [vary("back"), vary("middle", "plain", back="back"), vary("front", "plain", "plain", back="middle")],
        [probe(url("front"), expected="200,503")]))
    fixed = project.filibuster("run", "--fault", "503", "--reduce", "published")
    assert fixed.executed == executed, (fixed, run)
    assert any("status alone" in note for note in notes) == (answer == "text"), run


def test_a_session_resumes_with_its_masks(project):
    project.write("filibuster.json", application("path", "query", "json", "form"))
    started = project.start("run", "--fault", "503", "--json")
    seen = []
    for line in started.stdout:
        event = json.loads(line)
        seen.append(event["type"])
        if event["type"] == "execution" and event["executed"] >= 4:
            started.send_signal(signal.SIGINT)
            break
    started.communicate()
    wait_until(lambda: started.poll() is not None, "the run ends")
    run = project.filibuster("run", "--fault", "503")
    assert run.exit_code == 0, run
    is_whole(run, 16)
    assert len(proposed(run)) == 4, run
    assert "path segment 2" in json.dumps(run.test["nondeterminism"]["varied"]), run


def test_a_test_that_fails_in_a_repetition_is_an_error(project):
    flag = project.directory / "ran"
    project.write("filibuster.json", config(
        [vary("back"), vary("front", "plain", back="back")],
        [{"name": "once", "command": f"{probe(url('front'))['command'].removeprefix('exec ')} && "
                                     f"test ! -e {flag} && touch {flag}"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "passed once; its repetition" in run.errors, run
