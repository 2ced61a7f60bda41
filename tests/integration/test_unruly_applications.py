"""Applications that do not play by the rules (apps/unruly.py): what can be concluded is, the rest is said. Answers
that differ from run to run have a file of their own, test_nondeterminism.py."""
import pytest

import pairs
from conftest import PROGRAMS, PYTHON
from small_apps import APPS, config, probe, relay, url

FAULTS = {"faults": [{"on": {"service": "back"}, "inject": ["status:500", "refused"]}], "default_faults": False}


def unruly(name, mode, *words, **members):
    return {"name": name, "command": f"exec {PYTHON} {APPS}/unruly.py ${{port:{name}}} {mode} " + " ".join(words), **members}


def explore(project, services, test, **members):
    project.write("filibuster.json", config(services, [test], **FAULTS, **members))
    return project.filibuster("run")


def until_seen(test, path):
    """Ends when the call is made: when that is, after the answer, is the scheduler's to say."""
    return test | {"command": test["command"].removeprefix("exec ") + f" && exec {PYTHON} {APPS}/until_seen.py {path}"}


def faulted(run):
    """The (caller, path) of the RPCs of `back`, each with whether the reference execution knows its cause."""
    return [(rpc["caller"], rpc["path"], rpc["cause"] != "none") for rpc in run.test["reference"] if rpc["service"] == "back"]


def test_state_that_outlives_an_execution_is_no_pass_and_a_fresh_start_helps(project):
    """A circuit breaker that stays open: after the first fault the call never comes again."""
    test = probe(url("front"), expected="200,503")
    run = explore(project, [relay("back"), unruly("front", "breaker", url("back"))], test)
    assert run.exit_code == 3 and not run.test["finished"], run
    assert run.test["counts"]["executed"] == 2 and run.test["counts"]["abandoned"] == 1, run
    (skipped,) = run.test["skipped"]
    assert "its RPC was not issued" in skipped["reason"], run
    (group,) = run.test["unexplained"]
    assert group["cause"] == "state in a service" and '"restart": "each"' in group["advice"], run

    run = explore(project, [relay("back"), unruly("front", "breaker", url("back"), restart="each")], test)
    assert run.exit_code == 0 and run.test["finished"] and run.executed == 1 + 2, run
    assert run.test["unexplained"] == [], run


def test_what_is_answered_after_the_test_ended_belongs_to_its_execution(project):
    """The test ends when its request was received, and the call is made when it has ended."""
    test = {"name": "impatient", "command": f"curl -s -H \"x-test: $$\" {url('front')} & until [ -e received-$$ ]; do sleep 0.01; done; kill $!"}
    run = explore(project, [relay("back"), unruly("front", "patient", url("back"))], test)
    assert run.exit_code == 0 and run.test["finished"] and run.executed == 1 + 2, run
    assert faulted(run) == [("front", "/", True)], run
    assert not any(note.startswith("late:") for note in run.test["notes"]), run


def test_a_call_after_the_answer_is_named_and_its_cause_not_guessed(project):
    test = until_seen(probe(url("front"), expected="202"), "/afterwards")
    run = explore(project, [relay("back"), unruly("front", "later", url("back", "/afterwards"))], test)
    assert run.exit_code == 3 and run.executed == 1, run
    assert any("front -> back GET /afterwards" in line for line in run.test["without_cause"]), run
    assert "RPCs that were never faulted:" in run.output and "front -> back GET /afterwards" in run.output, run
    assert not any(known for _, _, known in faulted(run)), run


def test_a_call_that_comes_when_its_execution_is_over_is_named(project):
    front = {"name": "front", "command": f"exec node {APPS}/node/overdue.js ${{port:front}} {url('back', '')}"}
    run = explore(project, [relay("back"), front], probe(url("front"), expected="200,503"))
    assert run.exit_code == 3 and run.executed == 1 + 2, run
    assert run.test["without_cause"] == ["front -> back GET /left: made when its execution was over, so it got no fault; let the "
                                         "test wait for what it causes"], run


def test_a_service_that_calls_itself_is_explored(project):
    """test -> front -> front/inner -> back: the two faults of back's RPC, and nothing of it twice."""
    run = explore(project, [relay("back"), unruly("front", "itself", url("back"))], probe(url("front"), expected="200,503"))
    assert run.exit_code == 0 and run.test["finished"] and run.executed == 1 + 2, run
    rpcs = {rpc["index"]: rpc for rpc in run.test["reference"]}
    (last,) = [rpc for rpc in rpcs.values() if rpc["service"] == "back"]
    inner = rpcs[last["parent"]]
    assert (inner["caller"], inner["service"], inner["path"]) == ("front", "front", "/inner"), run
    assert rpcs[inner["parent"]]["path"] == "/" and rpcs[inner["parent"]]["caller"] == "test", run


# trace ends with the execution that run begins with.
@pairs.only("command", ["run"])
@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_service_that_calls_itself_without_end_is_named_with_its_call_site(project, command):
    test = probe(url("front"), expected="200", timeout="5s")
    project.write("filibuster.json", config([unruly("front", "forever")], [test], **FAULTS,
                                            bounds={"quiesce_timeout": 0.3}))
    run = project.filibuster(command)
    assert run.exit_code == (3 if command == "run" else 1), run
    (line,) = [line for line in run.errors.splitlines() if "call itself without end" in line]
    assert "'front'" in line and "front -> front GET /again" in line and "unruly.py:" in line, run


def test_an_application_that_never_becomes_quiet_is_said_and_does_not_hang(project):
    """A thread reads an answer that never ends; it asks for it after the test was answered."""
    run = explore(project, [unruly("back", "endless"), unruly("front", "endless", url("back", "/endless"))],
                  until_seen(probe(url("front")), "/endless"), bounds={"quiesce_timeout": 0.3})
    assert "passed, but RPCs stayed open" in run.errors and "-> back GET /endless" in run.errors, run
    assert run.exit_code == 3 and run.executed == 1, run
    assert faulted(run) == [("front", "/endless", False)], run


@pytest.mark.parametrize("reduction", [[], ["--no-reduction"]])
def test_calls_at_once_come_in_any_order_and_every_set_of_failures_is_tried(project, reduction):
    """The order of issue is another one each time; each set makes front see what no other set does."""
    number = 5
    front = {"name": "front", "command": f"exec {PYTHON} {APPS}/fanout.py ${{port:front}} {number} {url('back', '')}"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")],
                                            faults=[{"inject": 503}]))
    run = project.filibuster("run", *reduction)
    assert run.exit_code == 1 and run.test["finished"], run
    assert run.executed == 2 ** number and run.test["counts"]["redundant"] == 0, run
    (finding,) = run.test["findings"]
    assert sorted(fault["path"] for fault in finding["faults"]) == ["/0", f"/{number - 1}"], run


def test_a_test_that_serves_at_a_new_port_each_time_makes_the_same_calls(project):
    """Its own server has its name before anybody asks there."""
    traces = [project.filibuster("trace", "--", PYTHON, f"{APPS}/own_server.py", "0") for _ in range(3)]
    assert all(trace.exit_code == 0 for trace in traces), traces
    (call,) = {trace.output for trace in traces}
    assert "test -> test  GET /own" in call, call

    failed = project.filibuster("trace", "--", PYTHON, f"{APPS}/own_server.py", "7")
    assert failed.exit_code == 1, failed
    assert "the test failed: exit status 7" in failed.output and "GET /own" in failed.output, failed


def test_a_port_has_its_name_when_listen_returns(project):
    trace = project.filibuster("trace", "--", PYTHON, f"{APPS}/own_ports.py", "20")
    assert trace.exit_code == 0, trace
    assert trace.output.count("  test -> ") == trace.output.count("  test -> test  GET /own") == 20, trace


def test_a_service_that_calls_the_test_back_is_explored_at_whatever_port_the_test_serves(project):
    project.write("filibuster.json", config(
        [relay("front")], [{"name": "called", "command": f"exec {PYTHON} {APPS}/own_server.py 0 {url('front')}"}],
        faults=[{"inject": ["status:503", "reset"]}], default_faults=False))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.test["finished"], run
    assert run.executed == 3 and run.test["counts"]["abandoned"] == 0, run
    assert ("front", "test", "/own") in [(rpc["caller"], rpc["service"], rpc["path"]) for rpc in run.test["reference"]], run


def test_threads_whose_first_sockets_come_together_are_all_seen(project):
    """What one thread sets up for all of them takes long: the other one's request is no stranger's."""
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {PROGRAMS}/http_echo_server threads ${{port:back}}"}],
        [{"name": "first", "command": f"exec {PROGRAMS}/first_sockets ${{port:back}}"}],
        fault_test_calls=True, default_faults=False, faults=[{"on": {}, "inject": ["status:503"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 4, run
    rpcs = {rpc["path"]: rpc for rpc in run.test["reference"]}
    assert sorted(rpcs) == ["/first", "/second"], run
    assert all(rpc["stack"] and "formed on arrival" not in rpc["tags"] for rpc in rpcs.values()), rpcs


def test_many_threads_at_one_call_site_have_one_call_stack(project):
    """More of them than there is room for at once: they wait for it."""
    number = 400
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {PROGRAMS}/http_echo_server threads ${{port:back}}"}],
        [{"name": "crowd", "command": f"exec {PROGRAMS}/crowd ${{port:back}} {number}"}]))
    run = project.filibuster("run")
    stacks = [tuple(rpc["stack"]) for rpc in run.test["reference"]]
    assert len(stacks) == number, run
    assert len(set(stacks)) == 1 and stacks[0], set(stacks)


@pytest.mark.parametrize("mode,why", [("closes", "its process goes on"), ("cannot-map", "could not use its registration")])
def test_a_process_that_lives_on_unheard_makes_executions_incomplete(project, mode, why):
    """Its calls are in no report: what was not seen is never passed."""
    loner = {"name": "loner", "command": f"exec {PROGRAMS}/lives_on {mode} ${{port:back}}", "ready": {"log": "alone"}}
    project.write("filibuster.json", config([relay("back"), relay("front", "back"), loner], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert f"loner (pid" in run.output + run.errors and why in run.output + run.errors, run


def test_a_process_that_restricts_its_system_calls_before_its_first_socket_is_named(project):
    """A call of ours could be its end, so its calls are not seen; the report says so."""
    loner = {"name": "loner", "command": f"exec {PROGRAMS}/lives_on restricts ${{port:back}}", "ready": {"log": "alone"}}
    project.write("filibuster.json", config([relay("back"), relay("front", "back"), loner], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert "seccomp: it restricts its system calls" in run.output and "loner" in run.output, run
