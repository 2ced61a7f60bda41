"""How sessions are described, run, bounded, replayed, and asked."""
import json
import os
import re
import shutil
import stat
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import CORPUS, FILIBUSTER, PROGRAMS, PYTHON, REPOSITORY, free_port, wait_until
from by_hand import ByHand
from small_apps import PROBE, config, pair, probe, relay, url


def skipped(run, *words):
    """Is something listed as skipped with these words?"""
    return any(all(word in row["what"] + ": " + row["reason"] for word in words) for row in run.test["skipped"])


def relay_command(name, *calls):
    return relay(name, *calls)["command"]


# --- where the configuration comes from --------------------------------------------------------

def test_filibuster_json_of_this_directory_is_explored(project):
    project.write("filibuster.json", pair())
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 6 and run.test["finished"], run
    assert run.report["config"] == "filibuster.json"


def test_services_and_the_test_can_stand_on_the_command_line(project):
    test = [PROGRAMS / "probe", "200,503"]
    run = project.filibuster(
        "run", "--service", "back=" + relay_command("back"), "--service", "front=" + relay_command("front", "back"),
        "--", "sh", "-c", 'exec "$@" http://127.0.0.1:$PORT_FRONT/', "sh", *test)
    assert run.exit_code == 0 and run.executed == 6, run
    assert run.report["config"] == ""
    finding = project.filibuster(
        "run", "--service", "back=" + relay_command("back"), "--service", "front=" + relay_command("front", "back"),
        "--fault", "503", "--", "sh", "-c", f"exec {PROBE} 200 http://127.0.0.1:$PORT_FRONT/")
    assert finding.exit_code == 1 and finding.executed == 2, finding


def test_commands_run_where_the_configuration_is(project):
    made = pair(faults=[{"inject": "503"}])
    made["tests"][0]["command"] = "touch here; " + made["tests"][0]["command"]
    project.write("shop/shop.json", made)
    run = project.filibuster("run", "-c", "shop/shop.json")
    assert run.exit_code == 0 and (project.directory / "shop" / "here").exists(), run


@pytest.mark.parametrize("name", ["with blanks", "l" * 120, "colon:colon"])
def test_the_state_can_stand_anywhere(project, name):
    project.root = project.directory / name
    project.write("filibuster.json", pair(faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run


def test_a_second_run_of_the_same_root_is_refused_and_the_first_goes_on(project):
    made = pair(faults=[{"inject": "503"}])
    made["tests"][0]["command"] = "touch started; until [ -e go ]; do sleep 0.01; done; " + made["tests"][0]["command"]
    project.write("filibuster.json", made)
    first = project.start("run")
    wait_until(lambda: (project.directory / "started").exists(), "the test runs")
    second = project.filibuster("run")
    assert second.exit_code == 3 and "another session runs" in second.errors, second
    project.write("go", "")
    assert first.wait(timeout=60) == 0


# --- by hand ------------------------------------------------------------------------------------

@pytest.fixture
def by_hand(tmp_path):
    made = ByHand(tmp_path)
    yield made
    made.end()


def test_services_started_by_hand_join_a_daemon_and_are_plain_programs_without_one(project, by_hand):
    assert [by_hand.get() for _ in range(3)] == [{"failed": 0}] * 3  # nothing runs yet

    project.start("daemon")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    address = (project.root / "daemon.json").read_text()
    project.write("filibuster.json", by_hand.configuration())
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 6, run
    assert {rpc["received_by"] for rpc in run.test["reference"]} == {"front", "back"}, run.test["reference"]
    assert (project.root / "daemon.json").read_text() == address, "the run has joined the daemon that was there"

    again = project.filibuster("run")
    assert again.exit_code == 0 and again.executed == 6, again

    project.started[0].terminate()
    project.started[0].wait(timeout=30)
    assert [by_hand.get() for _ in range(3)] == [{"failed": 0}] * 3
    assert [process.poll() for process in by_hand.processes] == [None, None]


def test_services_by_hand_follow_sessions_that_come_in_quick_succession(project, by_hand):
    project.write("filibuster.json", by_hand.configuration())
    for number in range(12):
        trace = project.filibuster("trace")
        assert trace.exit_code == 0 and "front -> back" in trace.output, (number, trace)


# --- trace --------------------------------------------------------------------------------------

def test_trace_prints_the_tree_of_rpcs_with_their_indexes(project):
    run = project.filibuster("trace", "-c", CORPUS / "cinema-1" / "filibuster.json")
    assert run.exit_code == 0, run
    lines = [line for line in run.output.splitlines() if " -> " in line]
    assert len(lines) == 3, run
    assert "test -> users  GET /users/chris_rivers/bookings  200" in lines[0]
    assert "|- users -> bookings  GET /bookings/chris_rivers  200" in lines[1]
    assert "`- users -> movies  GET /movies/267eedb8" in lines[2]
    assert "users.py:" in lines[1] and "users.py:" in lines[2]
    indexes = [line.split()[0] for line in lines]
    assert len(set(indexes)) == 3 and all(len(index) == 32 for index in indexes)
    assert not (project.root / "report.json").exists(), "a trace is no exploration"

    assert project.filibuster("trace", "-c", CORPUS / "cinema-1" / "filibuster.json").output.splitlines() == \
        run.output.splitlines(), "the indexes are the same in the next run"


# --- replay -------------------------------------------------------------------------------------

def test_replay_reproduces_the_planted_bug_and_passes_when_it_is_repaired(project):
    shutil.copytree(CORPUS / "cinema-1", project.directory / "cinema")
    application = project.directory / "cinema"
    text = (application / "planted-bug.json").read_text()
    assert "../../cli/python" in text
    (application / "planted-bug.json").write_text(text.replace("../../cli/python", str(REPOSITORY / "cli/python")))
    run = project.filibuster("run", "-c", application / "planted-bug.json", "--fault", "timeout")
    assert run.exit_code == 1 and run.executed == 3, run
    (counterexample,) = run.counterexamples
    report = (project.root / "report.json").read_text()

    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 1, replay
    assert "reproduced" in replay.output and "expected 503 under a fault, got 500" in replay.output
    assert "users -> movies GET /movies/" in replay.output and "timeout" in replay.output

    # Repaired where it does not move the call site: the handler takes timeouts too.
    users = (application / "users.py").read_text()
    repaired = users.replace("@app.errorhandler(requests.exceptions.ConnectionError)",
                             "@app.errorhandler(requests.exceptions.RequestException)")
    assert repaired != users
    (application / "users.py").write_text(repaired)
    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 0 and "not reproduced" in replay.output, replay
    assert (project.root / "report.json").read_text() == report, "a replay leaves the report of the run alone"


def test_a_replay_whose_rpc_no_longer_exists_draws_no_conclusion(project):
    project.write("filibuster.json", pair(expected="200", faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    (counterexample,) = run.counterexamples
    changed = json.loads(counterexample.read_text())
    changed["config_text"] = json.dumps(config([relay("back"), relay("front", url("back", "/moved"))],
                                               [probe(url("front"))], faults=[{"inject": "503"}]))
    replay = project.filibuster("replay", "--trust", project.write("moved.json", changed))
    assert replay.exit_code == 3, replay
    assert "no conclusion" in replay.output and "plan not met" in replay.output, replay


# --- hooks, restarts ----------------------------------------------------------------------------

def test_hooks_run_around_every_execution(project):
    project.write("filibuster.json", pair(faults=[{"inject": "503"}], hooks={
        "before_execution": "echo before $FILIBUSTER_EXECUTION >> hooks.txt",
        "after_execution": ["sh", "-c", "echo after $FILIBUSTER_EXECUTION >> hooks.txt"]}))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    lines = (project.directory / "hooks.txt").read_text().split("\n")[:-1]
    numbers = [int(line.split()[1]) for line in lines[::2]]
    assert lines == [f"{when} {number}" for number in numbers for when in ("before", "after")]
    assert len(numbers) >= 2 and len(set(numbers)) == len(numbers)


def test_a_hook_that_fails_ends_the_session_with_its_output(project):
    project.write("filibuster.json", pair(hooks={"before_execution": "echo the database is locked; exit 5"}))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "before_execution" in run.errors and "the database is locked" in run.errors, run


@pytest.mark.parametrize("policy", ["crash", "each"])
def test_restart_each_gives_every_execution_a_fresh_service(project, policy):
    made = pair(faults=[{"inject": "503"}], hooks={"before_execution": "echo x >> executions.txt"})
    made["services"][0]["restart"] = policy
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    executions = len((project.directory / "executions.txt").read_text().split())
    starts = run.errors.count("service back ready")
    assert starts == (1 if policy == "crash" else 1 + executions), run
    assert run.errors.count("service front ready") == 1


# --- bounds -------------------------------------------------------------------------------------

def two(expected="200,503", **members):
    return config([relay("a"), relay("b"), relay("front", "a", "b", options="--tolerate 1")],
                  [probe(url("front"), expected=expected)], faults=[{"inject": ["500", "503"]}], **members)


def test_without_a_bound_everything_is_executed(project):
    project.write("filibuster.json", two())
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and run.executed == 9 and run.test["finished"], run
    assert run.test["skipped"] == []
    assert "reduction (ESR) was off" in run.test["notes"]


@pytest.mark.parametrize("by_option", [False, True])
def test_max_executions_is_a_bound_and_what_it_leaves_out_is_listed(project, by_option):
    project.write("filibuster.json", two(**({} if by_option else {"bounds": {"max_executions": 3}})))
    run = project.filibuster("run", "--no-reduction", *(["--max-executions", 3] if by_option else []))
    assert run.exit_code == 0 and run.executed == 3 and not run.test["finished"], run
    assert skipped(run, "bound max_executions 3"), run.test["skipped"]
    assert "NOT FINISHED" in run.output and "bound max_executions 3" in run.output, run


@pytest.mark.parametrize("by_option", [False, True])
def test_max_faults_is_a_bound_and_what_it_leaves_out_is_listed(project, by_option):
    project.write("filibuster.json", two(**({} if by_option else {"bounds": {"max_faults": 1}})))
    run = project.filibuster("run", "--no-reduction", *(["--max-faults", 1] if by_option else []))
    assert run.exit_code == 0 and run.executed == 5 and not run.test["finished"], run
    assert skipped(run, "4 executions", "bound max_faults 1"), run.test["skipped"]


@pytest.mark.parametrize("by_option", [False, True])
def test_stop_at_first_stops_after_one_failure_and_lists_what_was_left(project, by_option):
    made = pair("--on-failure answer500", **({} if by_option else {"bounds": {"stop_at_first": True}}))
    project.write("filibuster.json", made)
    run = project.filibuster("run", *(["--stop-at-first"] if by_option else []))
    assert run.exit_code == 1 and run.executed == 2, run
    assert len(run.test["findings"]) == 1 and not run.test["finished"]
    assert skipped(run, "4 scheduled executions", "stop_at_first"), run.test["skipped"]


# --- several tests ------------------------------------------------------------------------------

def test_several_tests_of_one_file_are_kept_apart(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [probe(url("front"), name="lenient", expected="200,503"), probe(url("front"), name="strict"),
         probe(url("front"), url("front", "/2"), name="twice", expected="200,503")],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    tests = {test["test"]: test for test in run.report["tests"]}
    assert list(tests) == ["lenient", "strict", "twice"]
    assert [test["counts"]["executed"] for test in tests.values()] == [2, 2, 4], run
    assert [len(test["findings"]) for test in tests.values()] == [0, 1, 0]
    assert run.errors.count("service back ready") == 1, "services are started once for all tests"
    (counterexample,) = run.counterexamples
    assert json.loads(counterexample.read_text())["test"] == "strict"

    only = project.filibuster("run", "--test", "lenient")
    assert only.exit_code == 0 and [test["test"] for test in only.report["tests"]] == ["lenient"], only
    assert run.counterexamples == [counterexample], "the other test keeps its counterexample"
    unknown = project.filibuster("run", "--test", "absent")
    assert unknown.exit_code == 2 and "'absent'" in unknown.errors and "lenient" in unknown.errors, unknown


def test_a_test_that_fails_without_faults_does_not_keep_the_others_from_being_explored(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [probe(url("front"), name="wrong", expected="418"), probe(url("front"), name="right", expected="200,503")],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    wrong, right = run.report["tests"]
    assert right["finished"] and right["counts"]["executed"] == 2 and not wrong["finished"], run
    assert "'wrong' was not explored" in run.errors and "fails without any fault" in run.errors, run


def test_a_failure_keeps_its_number_from_run_to_run(project):
    def explore(*faults):
        project.write("filibuster.json", pair(expected="200", faults=[{"inject": list(faults)}]))
        run = project.filibuster("run")
        assert run.exit_code == 1, run
        return run, {finding["faults"][0]["fault"]: finding["number"] for finding in run.test["findings"]}

    both, numbers = explore("500", "503")
    assert sorted(numbers.values()) == [1, 2], both
    gone, kept = numbers["status:500"], numbers["status:503"]
    other, numbers = explore("503", "502")
    assert numbers == {"status:502": 3, "status:503": kept}, other
    # What this run did not find is kept, and said.
    assert [path.name for path in other.counterexamples] == ["1.json", "2.json", "3.json"]
    assert f"which this run did not find: {gone}.json" in other.output, other
    # The same number on the progress line, in the summary and in the name of the file.
    assert re.search(rf"finding {kept}: the test fails \(exit status 1\) under .*: status:503$", other.errors, re.M), other
    assert re.search(rf"finding {kept}: the test fails.*?again: filibuster replay \S*/{kept}\.json", other.output, re.S), other


def test_a_rule_that_names_nothing_is_said(project):
    project.write("filibuster.json", pair(expected="200,503", faults=[
        {"on": {"service": "bakc"}, "inject": "500"}, {"on": {"path": "/nowhere"}, "inject": "500"},
        {"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert re.search(r"filibuster\.json:\d+: the fault rule for RPCs to bakc names 'bakc'.*did you mean 'back'", run.errors), run
    assert "the fault rule for RPCs to bakc matched no RPC" in run.output, run
    assert "the fault rule for RPCs /nowhere matched no RPC" in run.output, run


def test_a_rule_of_nondeterminism_that_names_nothing_is_said(project):
    project.write("filibuster.json", pair(expected="200,503", faults=[{"inject": "503"}], nondeterminism=[
        {"on": {"service": "bakc"}, "mask": {"query": ["at"]}}, {"on": {"service": "back"}, "mask": {"query": ["at"]}}]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    told = "the rule of 'nondeterminism' for RPCs to "
    assert re.search(rf"filibuster\.json:\d+: {told}bakc names 'bakc'.*did you mean 'back'", run.errors), run
    assert f"{told}bakc matched no RPC" in run.output and f"{told}back matched" not in run.output, run


def test_a_finished_session_starts_anew(project):
    project.write("filibuster.json", pair(expected="200", faults=[{"inject": ["500", "503"]}]))
    for _ in range(2):
        run = project.filibuster("run")
        assert run.exit_code == 1 and run.executed == 3 and len(run.counterexamples) == 2, run
        assert "exploring" in run.errors and "continuing" not in run.errors, run


def test_restart_session_forgets_an_interrupted_one(project):
    project.write("filibuster.json", two())
    process = project.start("run", "--no-reduction", "--json")
    for line in process.stdout:
        if json.loads(line)["type"] == "execution":
            process.terminate()
            break
    process.communicate(timeout=60)
    run = project.filibuster("run", "--no-reduction", "--restart-session")
    assert run.exit_code == 0 and run.executed == 9 and "continuing" not in run.errors, run
    assert run.test["seconds"]["median_execution"] > 0


# --- predicates ---------------------------------------------------------------------------------

# Writes down, for each execution, what every predicate says after the call.
ASKING_TEST = f'''
{PROBE} 200,503 http://127.0.0.1:$PORT_FRONT/ || exit 1
ask() {{ "$FILIBUSTER" was-fault-injected "$@"; printf '%s ' $? >> answers.txt; }}
ask; ask --service back; ask --service front; ask --service back --method GET; ask --method POST
ask --path '/x*'; ask --path '/b*'; ask --fault 503; ask --fault status:503
{PYTHON} asking.py >> answers.txt
'''
ASKING_PYTHON = '''
from filibuster_predicates import was_fault_injected as was
print(was(), was(service="back"), was(service="front"), was(method="GET", path="/b*"), was(fault="status:503"))
'''


def test_predicates_answer_for_the_running_execution(project):
    project.write("asking.py", ASKING_PYTHON)
    project.write("asking.sh", ASKING_TEST)
    project.write("filibuster.json", config(
        [relay("back"), relay("front", url("back", "/book"))],
        [{"name": "asking", "command": "exec sh asking.sh",
          "env": {"FILIBUSTER": str(FILIBUSTER), "PYTHONPATH": str(REPOSITORY / "cli/python")}}],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    answers = (project.directory / "answers.txt").read_text().splitlines()
    without = "1 1 1 1 1 1 1 1 1 False False False False False"
    (under,) = [line for line in answers if line != without]
    assert under == "0 0 1 0 1 1 0 0 0 True True False True True" and answers[0] == without, answers


def test_predicates_outside_a_session(project):
    run = subprocess.run(
        [FILIBUSTER, "was-fault-injected", "--service", "back"], text=True, stderr=subprocess.PIPE,
        env={key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")})
    assert run.returncode == 3 and "not under filibuster" in run.stderr
    assert subprocess.run([FILIBUSTER, "was-fault-injected", "--colour", "red"],
                          stderr=subprocess.PIPE).returncode == 2
    plain = subprocess.run([PYTHON, "-c", ASKING_PYTHON], text=True, stdout=subprocess.PIPE, env={
        "PYTHONPATH": str(REPOSITORY / "cli/python")})
    assert plain.stdout == "False False False False False\n"
    dead = subprocess.run([PYTHON, "-c", ASKING_PYTHON], text=True, stderr=subprocess.PIPE, env={
        "PYTHONPATH": str(REPOSITORY / "cli/python"), "FILIBUSTER_URL": f"http://127.0.0.1:{free_port()}"})
    assert dead.returncode != 0 and "did not answer" in dead.stderr, "a guess would be worthless"


# --- the HTTP API -------------------------------------------------------------------------------

def ask(address, path, token, method="GET"):
    request = urllib.request.Request(address["url"] + path, method=method, data=b"{}" if method == "POST" else None)
    if token is not None:
        request.add_header("Authorization", token)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_the_api_wants_the_token_which_only_this_user_can_read(project):
    project.start("daemon")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    assert stat.S_IMODE((project.root / "daemon.json").stat().st_mode) == 0o600
    address = project.daemon()
    assert address["url"].startswith("http://127.0.0.1:") and len(address["token"]) >= 32
    good = "Bearer " + address["token"]
    for method, path in [("GET", "/v1/status"), ("GET", "/v1/trace"), ("GET", "/v1/fault-injected"),
                         ("GET", "/v1/sessions/1/progress"), ("GET", "/v1/sessions/1/report"),
                         ("POST", "/v1/sessions"), ("POST", "/v1/sessions/1/stop"), ("POST", "/v1/shutdown"),
                         ("GET", "/anything")]:
        for token in (None, "", "Bearer ", address["token"], good[:-1], good + "0", good.upper()):
            assert ask(address, path, token, method)[0] == 401, (method, path, token)
    assert ask(address, "/v1/status", good) == (200, {"version": 1, "session": None})
    assert ask(address, "/v1/sessions/1/report", good)[0] == 404
    assert ask(address, "/v1/shutdown", good, "POST")[0] == 200
    assert project.started[0].wait(timeout=30) == 0
    assert not (project.root / "daemon.json").exists()


def test_the_state_of_a_run_is_for_this_user_only(project):
    project.write("filibuster.json", pair(expected="200", faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    for file in [project.root / "report.json", *run.counterexamples]:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def started_elsewhere(number, **ready):
    return config([{"name": "back", "ports": {"back": number}, "ready": ready}, relay("front", "back")],
                  [{"name": "home", "command": f"{PROBE} 200 {url('front')}"}])


def test_a_service_that_somebody_else_starts_is_waited_for_if_the_configuration_says_so(project):
    number = free_port()
    project.write("filibuster.json", started_elsewhere(number, http="/", timeout="0.3s"))
    run = project.filibuster("trace")
    assert run.exit_code == 3 and "service 'back', which somebody else starts, did not become ready within 300 ms" in run.errors, run
    project.write("filibuster.json", started_elsewhere(number, http="/", timeout="60s"))
    session = project.start("trace", "--json")
    service = None
    try:
        # It comes when the session waits already: the daemon has written where it listens.
        wait_until(lambda: (project.root / "daemon.json").exists(), "the session begins")
        service = subprocess.Popen([PROGRAMS / "relay", str(number)])
        assert session.wait(timeout=90) == 0, session.stderr.read()
    finally:
        if service is not None:
            service.kill()
            service.wait()
