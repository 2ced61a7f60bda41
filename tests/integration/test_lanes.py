"""Executions on several lanes: the results are those of one (docs/lanes.md)."""
import json
import os
import pathlib
import signal

import pytest

import pairs
from conftest import PYTHON, free_port, wait_until
from processes import alive, owned
from small_apps import config, held, probe, relay, url

INJECT = ["503", "reset", "status:500", "timeout"]


def application(options="--tolerate 1", meet=0, inject=INJECT, python=False, **members):
    """`meet`: this many lanes are needed before the first faulted execution ends. `python`: the test is forked."""
    services = [relay("a"), relay("b"), relay("c"),
                relay("front", "a", "b", "c", options=f"--timeout 1 --on-failure answer500 {options}")]
    return config(services, [probe(url("front"), meet=meet, python=python)], faults=[{"on": {"caller": "front"}, "inject": inject}], **members)


def shown(run):
    test = run.test
    return (run.exit_code, test["counts"], test["finished"],
            sorted((case["name"], case["state"], case["redundant"]) for case in test["cases"]),
            [[(fault["service"], fault["fault"]) for fault in finding["faults"]] for finding in test["findings"]])


@pairs.only("reduce", ["sound"])
@pytest.mark.parametrize("reduce", ["sound", "off"])
def test_the_results_are_those_of_one_lane(project, reduce):
    seen = {}
    for lanes in (1, 2, 4):
        project.write("filibuster.json", application(bounds={"max_faults": 2}, inject=INJECT[:2], meet=lanes, python=reduce == "sound"))
        for met in project.directory.glob("met-*"):
            met.unlink()
        run = project.filibuster("run", "--restart-session", "--reduce", reduce, "-j", lanes)
        assert run.executed > 10 and run.exit_code == 1 and run.test["lanes"]["used"] == lanes, run
        assert lanes > 1 or run.test["lanes"]["not_needed"] == 0, run
        seen[lanes] = shown(run)
    assert seen[2] == seen[1] and seen[4] == seen[1]


def test_an_interrupted_run_goes_on_with_another_number_of_lanes(project):
    made = application(inject=INJECT[:2], bounds={"max_faults": 2})
    project.write("filibuster.json", made | {"tests": [held(made["tests"][0], 12)]})
    whole = shown(project.filibuster("run", "-j", "2"))
    project.write("hold", "")
    process = project.start("run", "-j", "2", "--restart-session", "--json")
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "execution" and event["executed"] >= 3:
            break
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    (project.directory / "hold").unlink()
    rest = project.filibuster("run", "-j", "3")
    assert shown(rest) == whole, rest


@pytest.mark.parametrize("change, why", [
    (lambda made: made["services"][0].update(ports={"a": free_port()}), "fixed port"),
    (lambda made: made["services"].append({"name": "other"}), "somebody else"),
])
def test_what_allows_one_lane_is_said(project, change, why):
    made = application(default_faults=False, bounds={"max_faults": 1})
    change(made)
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "2")
    assert "one lane is used" in run.errors and why in run.errors, run


def test_a_predicate_answers_for_its_lane(project):
    predicates = pathlib.Path(__file__).resolve().parents[2] / "cli" / "python"
    project.write("test.py", f"""
import os, pathlib, sys, time, urllib.error, urllib.request
sys.path.insert(0, {str(predicates)!r})
import filibuster_predicates
try:
    status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
except urllib.error.HTTPError as error:
    status = error.code
faulted = filibuster_predicates.was_fault_injected()
if faulted:  # each lane runs one
    pathlib.Path(f"met-{{os.environ['FILIBUSTER_LANE']}}").touch()
    end = time.monotonic() + 60
    while len(list(pathlib.Path().glob("met-*"))) < 3 and time.monotonic() < end:
        time.sleep(0.005)
sys.exit(0 if faulted == (status != 200) else 3)
""")
    made = application(options="", bounds={"max_faults": 1})
    made["tests"] = [{"name": "front", "command": f"exec {PYTHON} test.py", "env": {"FRONT": url("front")}}]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "3")
    assert run.exit_code == 0 and run.test["lanes"]["used"] == 3, run


def test_a_lane_knows_its_number(project):
    made = application(bounds={"max_faults": 1}, meet=3)
    made["services"][0]["env"] = {"DATA": "data-${lane}"}
    made["services"][0]["command"] = made["services"][0]["command"].replace("exec ", "echo x >> \"$DATA\"; echo ${lane} > number-$FILIBUSTER_LANE; exec ")
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "3")
    assert run.test["lanes"]["used"] == 3, run
    assert [(project.directory / f"number-{lane}").read_text().strip() for lane in range(3)] == ["0", "1", "2"]
    assert all((project.directory / f"data-{lane}").exists() for lane in range(3))


def test_answers_with_the_port_of_a_lane_are_equal(project):
    project.write("portal.py", """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"see http://127.0.0.1:{sys.argv[1]}/next".encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
""")
    made = application(inject=INJECT[:2], bounds={"max_faults": 2}, meet=2)
    made["services"][0]["command"] = f"exec {PYTHON} portal.py ${{port:a}}"
    project.write("filibuster.json", made)
    (project.directory / "met-1").touch()
    alone = shown(project.filibuster("run", "--restart-session", "-j", "1"))
    (project.directory / "met-1").unlink()
    run = project.filibuster("run", "--restart-session", "-j", "2")
    assert run.test["lanes"]["used"] == 2 and shown(run) == alone, run


def test_a_lane_that_does_not_start_is_not_used(project):
    made = application(meet=2, inject=INJECT[:2])
    made["services"][0]["command"] = made["services"][0]["command"].replace("exec ", "[ ${lane} -ne 1 ] || exit 9; exec ")
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "3")
    assert run.test["lanes"]["used"] == 2 and run.test["finished"], run
    assert any("lane 1 is not used" in note for note in run.test["notes"]), run


# Three hundred executions: lanes are measured for four seconds.
@pytest.mark.whole
def test_lanes_that_make_nothing_faster_are_given_up(project):
    """An execution that meets another one waits for it, and then lasts longer. (Lanes are measured for four seconds.)"""
    made = application(bounds={"max_faults": 1}, inject=[f"status:{status}" for status in range(400, 500)])
    [test] = made["tests"]
    made["tests"] = [{**test, "command": "exec 9> lock; flock -n 9 || { flock 9; sleep 0.05; }; sleep 0.01; " + test["command"]}]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "2")
    assert any("so 1 lane goes on" in note for note in run.test["notes"]), run
    assert run.exit_code == 0 and run.executed == 1 + 3 * 100 and run.test["lanes"]["used"] == 2, run


# That the test is forked once it pays is in test_snapshots.py, on one lane.
@pytest.mark.whole
def test_lanes_begin_to_fork_the_test_when_that_pays(project):
    """Five executions are few. Each of them brings further ones."""
    names = "abcde"
    services = [*map(relay, names), relay("front", *names, options="--tolerate 5")]
    made = config(services, [probe(url("front"), python=True)], faults=[{"on": {"caller": "front"}, "inject": ["503"]}], bounds={"max_faults": 3})
    project.write("filibuster.json", made)
    plain = project.filibuster("run", "--restart-session", "--reduce", "off", "--no-snapshot")
    run = project.filibuster("run", "--restart-session", "--reduce", "off", "-j", "2")
    assert run.test["start"]["way"] == "reset" and run.test["lanes"]["used"] == 2, run
    assert not any("lane" in note for note in run.test["notes"]), run
    assert run.executed == 1 + 5 + 10 + 10 and shown(run) == shown(plain), run


def test_nothing_is_left_of_a_killed_daemon(project):
    project.write("filibuster.json", application(meet=2, inject=INJECT[:2]))
    process = project.start("run", "-j", "2", "--json")
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "execution" and event["executed"] >= 6:
            break
    wait_until(lambda: (project.root / "processes-1.json").exists(), "lane 1 runs")
    os.kill(project.daemon()["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    left = [*owned(project).values(),
            *(row["pid"] for row in json.loads((project.root / "processes-1.json").read_text())["processes"])]
    assert len(left) >= 8
    run = project.filibuster("run")
    assert run.test["finished"], run
    assert not [pid for pid in left if alive(pid)] and not (project.root / "processes-1.json").exists()


def named(test, name):
    return {**test, "name": name}


def shown_tests(run):
    """What a run says of its tests, whichever lane explored them."""
    return run.exit_code, [(test["test"], test["counts"], test["finished"], sorted(
        (case["name"], case["state"], case["redundant"]) for case in test["cases"]), sorted(
        [(fault["service"], fault["fault"]) for fault in finding["faults"]] for finding in test["findings"]))
        for test in run.report["tests"]]


def test_tests_are_explored_side_by_side(project):
    """No test's first faulted execution ends before another lane has one, too."""
    names = ["one", "two", "three", "four", "five"]
    seen = {}
    for lanes in (1, 2):
        made = application(options="", bounds={"max_faults": 1}, inject=INJECT[:2], meet=lanes)
        made["tests"] = [named(made["tests"][0], name) for name in names]
        project.write("filibuster.json", made)
        for met in project.directory.glob("met-*"):
            met.unlink()
        run = project.filibuster("run", "--restart-session", "-j", lanes)
        seen[lanes] = shown_tests(run)
        assert [test["test"] for test in run.report["tests"]] == names and run.exit_code == 1, run
        first, *others = (test["lanes"] for test in run.report["tests"])
        assert first["number"] == 0 and first["used"] == lanes, "the lanes are compared in the first test"
        assert {one["used"] for one in others} == {1} and {one["number"] for one in others} == set(range(lanes)), run
        files = [finding["counterexample"] for test in run.report["tests"] for finding in test["findings"]]
        assert len(set(files)) == len(files) > 4, "each failure has a file of its own"
        for test in run.report["tests"]:
            for finding in test["findings"]:
                assert json.loads(pathlib.Path(finding["counterexample"]).read_text())["test"] == test["test"]
    assert seen[2] == seen[1]
    first = min((project.root / "counterexamples").iterdir())
    replayed = project.filibuster("replay", first)
    assert replayed.exit_code == 1, replayed


# An interrupted run of one test goes on in a test above.
@pytest.mark.whole
def test_what_was_explored_side_by_side_goes_on_after_an_interruption(project):
    made = application(options="", bounds={"max_faults": 1}, inject=INJECT[:2])
    made["tests"] = [named(made["tests"][0], name) for name in ("one", "two", "three", "four")]
    project.write("filibuster.json", made)
    whole = shown_tests(project.filibuster("run", "-j", "2"))
    process = project.start("run", "-j", "2", "--restart-session", "--json")
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "execution" and event["test"] != "one":
            break
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    rest = project.filibuster("run", "-j", "3")
    assert shown_tests(rest) == whole, rest


def test_a_test_that_a_further_lane_cannot_explore_is_explored_on_lane_0(project):
    made = application(default_faults=False, bounds={"max_faults": 1}, inject=INJECT[:2])
    [test] = made["tests"]
    broken = "if [ $FILIBUSTER_LANE -eq 1 ]; then touch tried; exit 9; else while [ ! -e tried ]; do sleep 0.01; done; fi; "
    made["tests"] = [named(test, "first"), *({**test, "name": name, "command": broken + test["command"]} for name in ("one", "two", "three"))]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "2")
    assert all(test["counts"]["executed"] == 7 and test["lanes"]["number"] == 0 for test in run.report["tests"]), run
    assert "is explored again on lane 0, since it could not be on lane 1" in run.errors, run


def test_a_lane_that_shows_something_else_explores_nothing(project):
    """The front service of lane 1 answers without asking anybody."""
    made = application(default_faults=False, bounds={"max_faults": 1}, inject=INJECT[:2])
    other = f"[ ${{lane}} -ne 1 ] || exec {PYTHON} -m http.server --directory logs ${{port:front}}; "
    made["services"][-1]["command"] = other + made["services"][-1]["command"]
    made["tests"] = [named(made["tests"][0], name) for name in ("one", "two", "three")]
    project.write("filibuster.json", made)
    (project.directory / "logs").mkdir()
    run = project.filibuster("run", "-j", "2")
    assert all(test["counts"]["executed"] == 7 and test["lanes"]["number"] == 0 for test in run.report["tests"]), run
    assert any("lane 1 is not used" in note for note in run.report["tests"][0]["notes"]), run


# That a predicate answers for its lane is in test_a_predicate_answers_for_its_lane.
@pytest.mark.whole
def test_a_predicate_answers_for_the_test_of_its_lane(project):
    """Both tests ask at the same time; only one asks of what no RPC can be."""
    predicates = pathlib.Path(__file__).resolve().parents[2] / "cli" / "python"
    project.write("test.py", f"""
import os, pathlib, sys, time, urllib.error, urllib.request
sys.path.insert(0, {str(predicates)!r})
import filibuster_predicates
try:
    status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
except urllib.error.HTTPError as error:
    status = error.code
faulted = filibuster_predicates.was_fault_injected()
if faulted:
    filibuster_predicates.was_fault_injected(os.environ["ASKS"])
    pathlib.Path(f"met-{{os.environ['FILIBUSTER_LANE']}}").touch()
    end = time.monotonic() + 5  # the tests of one lane may have had their turn
    while len(list(pathlib.Path().glob("met-*"))) < 2 and time.monotonic() < end:
        time.sleep(0.005)
sys.exit(0 if faulted == (status != 200) else 3)
""")
    made = application(options="", inject=INJECT[:2])
    made["tests"] = [{"name": name, "command": f"exec {PYTHON} test.py", "env": {"FRONT": url("front"), "ASKS": asks}}
                     for name, asks in (("first", "a"), ("right", "a"), ("misspelt", "b2"))]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "2")
    assert run.exit_code == 0, run
    _, right, misspelt = run.report["tests"]
    assert {right["lanes"]["number"], misspelt["lanes"]["number"]} == {0, 1}, run
    assert not any("b2" in note for note in right["notes"]) and any("b2" in note for note in misspelt["notes"]), run
