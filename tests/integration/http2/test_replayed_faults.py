"""A counterexample of each fault that only streams have: `run` finds it, `replay` shows it again, and no more once the
program is repaired."""
import json

import pytest

import pairs
from calls import server
from conftest import PYTHON
from small_apps import config
from test_http2 import curl, web

# Asks for 1 to 4; nothing that a fault does may make another answer of it. What it makes of its errors is in
# handling.py, so that a repair does not move the call.
ASKING = """
import sys
import grpc
import calls_pb2, calls_pb2_grpc
from handling import DEADLINE, handled
stub = calls_pb2_grpc.CallsStub(grpc.insecure_channel("127.0.0.1:" + sys.argv[1]))
values, failure = [], None
try:
    for number in stub.Count(calls_pb2.Number(value=4), timeout=DEADLINE):
        values.append(number.value)
except grpc.RpcError as error:
    failure = error
answer = handled(values, failure and failure.code().name, failure and failure.details())
print(failure and failure.code().name, answer)
assert answer in ([1, 2, 3, 4], "not available"), answer
"""
HANDLING = """
DEADLINE = {deadline}
def handled(values, code, details):
    {first}
    return "not available" if code else values
"""
REPAIRED = HANDLING.format(deadline=20, first="if len(values) != 4 or 0 in values: return 'not available'")


def only(*codes):
    return HANDLING.format(deadline=20, first=f"assert code in (None, {', '.join(map(repr, codes))}), code")


PARTS = HANDLING.format(deadline=20, first="return values")
IMPATIENT = HANDLING.format(deadline=0.5, first="assert code is None, code")
BLIND = HANDLING.format(deadline=20, first="")
SECONDS = HANDLING.format(deadline=20, first="if details: int(details)")

# The fault, and the mistake that it shows.
MISTAKES = {
    "stream-reset": only("UNAVAILABLE"),
    "stream-reset:CANCEL:after": only("UNAVAILABLE", "INTERNAL"),
    "stream-reset@2": PARTS,
    "latency:1500ms": IMPATIENT,
    "latency:1500ms@3": IMPATIENT,
    "partial-message": only("UNAVAILABLE", "CANCELLED"),
    "empty-message": BLIND,
    "corrupt-message": only("UNAVAILABLE", "CANCELLED"),
    "no-trailers": only("UNAVAILABLE", "CANCELLED"),
    "grpc:ABORTED@2": PARTS,
}


def found_and_replayed(project, services, test, fault, repair):
    """The execution that failed, after what is said above was seen of it."""
    project.write("filibuster.json", config(services, [test], default_faults=False,
                                            faults=[{"on": {"caller": "test"}, "inject": fault}]))
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.executed == 2, run
    (finding,), (counterexample,) = run.test["findings"], run.counterexamples
    assert finding["reproduced"] is True, finding
    replayed = project.filibuster("replay", counterexample)
    assert replayed.exit_code == 1, replayed
    (injected,) = json.loads(counterexample.read_text())["faults"]
    assert injected["fault"] in replayed.output, replayed
    repair()
    replayed = project.filibuster("replay", counterexample)
    assert replayed.exit_code == 0 and "not reproduced" in replayed.output, replayed
    return finding, injected


def asking(project, mistake):
    project.write("asking.py", ASKING)
    project.write("handling.py", mistake)
    return {"name": "asking", "command": f"exec {PYTHON} asking.py ${{port:calls}}", "env": server()["env"]}


# One of each kind: a stream that ends, one that is late, a message, the end of a call.
@pairs.only("fault", ["stream-reset@2", "latency:1500ms", "partial-message", "no-trailers"])
@pytest.mark.parametrize("fault", MISTAKES)
def test_a_counterexample_replays_until_the_program_is_repaired(project, fault):
    test = asking(project, MISTAKES[fault])
    _, injected = found_and_replayed(project, [server()], test, fault, lambda: project.write("handling.py", REPAIRED))
    assert (injected["fault"], injected["grpc"]) == (fault, "calls.Calls/Count")


def test_the_message_of_a_status_is_that_of_the_replay(project):
    test = asking(project, SECONDS)
    finding, injected = found_and_replayed(
        project, [server()], test, {"grpc": "RESOURCE_EXHAUSTED", "message": "try later"},
        lambda: project.write("handling.py", REPAIRED))
    assert (injected["fault"], injected["message"]) == ("grpc:RESOURCE_EXHAUSTED", "try later")
    assert "invalid literal for int() with base 10: 'try later'" in finding["first"]["output"]


def test_a_goaway_replays_until_the_client_asks_again(project):
    # gRPC asks again by itself; curl does not.
    ask = "${PORT}".join(curl().split("${port:web}"))
    project.write("ask.sh", f"{ask}\n")
    found_and_replayed(
        project, [web(project.directory)], {"name": "curl", "command": "PORT=${port:web} sh ask.sh"}, "goaway",
        lambda: project.write("ask.sh", f"{ask} || {ask}\n"))
