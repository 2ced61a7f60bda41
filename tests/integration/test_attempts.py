"""Sequences of outcomes for the attempts of one call (core/fault/attempts.h), with real clients that retry."""
import json
import re
import shutil

import pytest

import pairs
from conftest import PYTHON
from documents import events
from small_apps import APPS, config

URL = "http://127.0.0.1:${port:shop}"
# What five attempts of each client end with where all fail, and where none is answered.
CLIENTS = {
    "requests": (f"{PYTHON} {APPS}/retrying_client.py {URL}PATH METHOD", "503", "ConnectionError"),
    "requests with an id": (f"{PYTHON} {APPS}/retrying_client.py {URL}PATH METHOD id", "503", "ConnectionError"),
    "Node": (f"PATIENCE=5 node {APPS}/node/retrying_client.js {URL}PATH METHOD", "503", "TimeoutError"),
    "Node with an id": (f"PATIENCE=5 node {APPS}/node/retrying_client.js {URL}PATH METHOD id", "503", "TimeoutError"),
}


class Explored:
    """What came of the faults, each alone, at the first attempt of the only call: what the client printed, what the server was
    asked, and the counterexample's attempts."""

    def __init__(self, project, client, faults, path="/ok", method="GET"):
        command = client.replace("PATH", path).replace("METHOD", method)
        project.write("filibuster.json", config(
            [{"name": "shop", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:shop}}"}],
            # A failure under each fault, so that there is a counterexample of each.
            [{"name": "call", "command": f"{command} > now; echo \"$FILIBUSTER_EXECUTION $(cat now)\" >> seen; "
                                         f"[ $FILIBUSTER_EXECUTION -le 2 ] && [ ! -e explored ]"}],
            fault_test_calls=True, bounds={"max_faults": 1}, faults=[{"inject": faults}]))
        self.run = project.filibuster("run", "--json")
        assert self.run.exit_code == 1, self.run
        seen = dict(line.split(" ", 1) for line in (project.directory / "seen").read_text().splitlines())
        served = [line.split(" ", 1) for line in (project.directory / "served").read_text().splitlines()]
        # Retries of the execution without faults are RPCs of their own and get faults, too.
        self.printed, self.served = {}, {}
        for event in events(self.run.output):
            if event["type"] != "execution" or len(event["faults"]) != 1:
                continue
            fault, number = event["faults"][0].split(": ", 1)[1], str(event["number"])
            assert event["verdict"] == "failed", event
            if number in seen and fault not in self.printed or path != "/ok":
                self.printed[fault] = seen[number]
                self.served[fault] = [what.split()[-1] for run, what in served if run == number]
        self.attempts = {}
        for file in sorted((project.directory / ".filibuster/counterexamples").glob("*.json"), key=lambda one: int(one.stem)):
            (fault,) = json.loads(file.read_text())["faults"]
            self.attempts[fault["fault"]] = [(one["outcome"], one["grouped_by"]) for one in fault["attempts"]]
        self.files = project


# requests tells its attempts by nothing but their sameness, and has all of the faults.
@pairs.only("name", ["requests"])
@pytest.mark.parametrize("name", CLIENTS)
def test_each_attempt_of_a_call_gets_its_outcome(project, name):
    client, failed, silent = CLIENTS[name]
    if "node" in client and not shutil.which("node"):
        pytest.skip("node is not there: its attempts were not checked")
    faults = ["503 when=1..3", "status:503 when=1+", "pass, 503", "timeout:after, 503, pass", "timeout:after when=1+",
              "reset, 503 when=2..4+2"]
    printed = {"status:503 when=1..3": "200", "status:503 when=1+": failed, "pass, status:503": "200",
               "timeout:after, status:503, pass": "200", "timeout:after when=1+": silent, "reset, status:503 when=2..4+2": "200"}
    served = {"status:503 when=1..3": 1, "status:503 when=1+": 0, "pass, status:503": 1,
              "timeout:after, status:503, pass": 2, "timeout:after when=1+": 5, "reset, status:503 when=2..4+2": 1}
    if "Node" in name:  # it really waits: one silence is enough
        for without in (printed, served):
            del without["timeout:after when=1+"]
        faults.remove("timeout:after when=1+")
    got = Explored(project, client, faults)
    assert got.printed == printed, got.run
    assert {fault: len(lines) for fault, lines in got.served.items()} == served, got.run
    rule = "request-id" if "id" in name.split() else "same-request"
    assert got.attempts["timeout:after, status:503, pass"] == [("timeout:after", "first"), ("status:503", rule), ("pass", rule)]
    assert got.attempts["pass, status:503"] == [("pass", "first")], "the client has its answer and gives up"
    assert got.attempts["status:503 when=1+"] == [("status:503", "first")] + 4 * [("status:503", rule)]
    project.write("explored", "")  # a replay begins with execution 1, and fails if its plan is met
    replay = project.filibuster("replay", ".filibuster/counterexamples/1.json")
    assert replay.exit_code == 1, replay


@pairs.only("name", ["requests"])
@pytest.mark.parametrize("name", ["requests", "Node"])
def test_every_second_attempt_fails_between_answers_of_the_server(project, name):
    client, _, _ = CLIENTS[name]
    if "node" in client and not shutil.which("node"):
        pytest.skip("node is not there: its attempts were not checked")
    got = Explored(project, client, ["503 when=2+2"], path="/third")
    assert got.printed == {"status:503 when=2+2": "200"}, got.run
    assert got.served == {"status:503 when=2+2": ["503", "503", "200"]}, got.run


# The client that is over soonest stays; what each fault does after its effect is in test_faults.py.
@pairs.only("name, fault", [("requests", "timeout:after")])
@pytest.mark.parametrize("fault", ["timeout:after", "reset:after", "502:after"])
@pytest.mark.parametrize("name", ["requests", "Node"])
def test_a_fault_after_effect_never_comes_upon_an_error(project, name, fault):
    client, _, _ = CLIENTS[name]
    if "node" in client and not shutil.which("node"):
        pytest.skip("node is not there: its attempts were not checked")
    got = Explored(project, client.replace("PATIENCE=5 ", ""), [f"{fault} when=1+"], path="/error", method="POST")
    ((text, printed),) = got.printed.items()
    assert printed == "503", got.run
    assert got.served[text] == 5 * ["503"], got.run
    attempts = [outcome for outcome, _ in got.attempts[text]]
    assert attempts and set(attempts) == {"pass (503 already)"}, got.run


def test_an_event_loop_reads_nothing_of_the_answers_that_silences_after_effect_keep(project):
    """Another thread reads as soon as the server answers, which may be before the sending thread has injected the silence."""
    client = f"{PYTHON} {APPS}/reading_loop.py ${{port:shop}} 25"
    got = Explored(project, client, ["timeout:after when=1+"])
    assert got.printed == {"timeout:after when=1+": "25 nothing"}, got.run
    assert set(got.attempts["timeout:after when=1+"]) == {("timeout:after", "first"), ("timeout:after", "same-request")}, got.run


@pytest.mark.whole
def test_curl_retries_by_itself(project):
    client = f"curl -s -o body --retry 2 -m 2 -w '%{{http_code}}' -H \"x-run: $FILIBUSTER_EXECUTION\" {URL}PATH"
    got = Explored(project, client, ["503, pass", "timeout:after, pass", "503 when=1+"])
    assert got.printed == {"status:503, pass": "200", "timeout:after, pass": "200", "status:503 when=1+": "503"}, got.run
    assert {fault: len(served) for fault, served in got.served.items()} == {
        "status:503, pass": 1, "timeout:after, pass": 2, "status:503 when=1+": 0}, got.run


def test_no_fault_is_scheduled_at_an_attempt_of_a_planned_sequence(project):
    client, _, _ = CLIENTS["requests"]
    command = client.replace("PATH", "/ok").replace("METHOD", "GET")
    project.write("filibuster.json", config(
        [{"name": "shop", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:shop}}"}],
        [{"name": "call", "command": command}], fault_test_calls=True, faults=[{"inject": ["503 when=1..2", "503 when=1+"]}]))
    run = project.filibuster("run", "--json")
    assert run.exit_code == 0, run
    faults = [event["faults"] for event in events(run.output) if event["type"] == "execution" and event["faults"]]
    assert sorted(re.sub("^.*?: ", "", text) for (text,) in faults) == ["status:503 when=1+", "status:503 when=1..2"], run
