"""gRPC over HTTP/2: every call is an RPC with its cause and its status, and only the chosen ones fail."""
import itertools

import pytest

from calls import KINDS, client, failures, fault_where, server, value_of
from rpc_tree import observe, observe_and_compare
from small_apps import config

LANGUAGES = ["cpp", "python"]


@pytest.mark.parametrize("serving,calling", itertools.product(LANGUAGES, LANGUAGES))
def test_each_kind_of_call_is_one_rpc_of_its_own(project, serving, calling):
    run = observe_and_compare(project, [server(serving)], client("kinds", language=calling))
    assert (project.directory / "printed").read_text() == KINDS
    rpcs = run.test["reference"]
    assert [rpc["path"] for rpc in rpcs] == [
        f"/calls.Calls/{method}" for method in ("Double", "Double", "Sum", "Count", "Negate")]
    assert {(rpc["method"], rpc["status"], rpc["received_by"], rpc["cause"]) for rpc in rpcs} == \
        {("POST", 200, "calls", "entry")}


def test_indexes_are_the_same_each_time(project):
    # Sites are another test's: a runtime's helper has them (runtimes/).
    seen = []
    for _ in range(3):
        run = observe(project, [server()], client("kinds"), index={"stack": False})
        seen.append([rpc["index"] for rpc in run.test["reference"]])
    assert seen[0] == seen[1] == seen[2] and len(set(seen[0])) == 5


def test_calls_of_many_threads_on_one_channel_are_told_apart(project):
    run = observe(project, [server()], client("threads", 8, 1000), index={"stack": False})
    rpcs = run.test["reference"]
    assert len(rpcs) == 8000 and len({rpc["index"] for rpc in rpcs}) == 8000
    # Each with its own answer.
    assert {value_of(rpc) for rpc in rpcs} == set(range(1, 8001))


# Threads that share a channel have their faults in test_relayed_faults.py and test_stream_faults.py.
@pytest.mark.whole
def test_exactly_the_chosen_calls_of_many_threads_fail(project):
    faulted, run, printed = fault_where(
        project, [server()], client("threads", 8, 1000), lambda rpc: value_of(rpc) % 7 == 0,
        "grpc:UNAVAILABLE", index={"stack": False})
    assert run.exit_code == 1, run
    assert len(faulted) == 8000 // 7
    assert failures(printed) == {value: 14 for value in range(7, 8001, 7)}
    assert printed.startswith(f"good {8000 - 8000 // 7} wrong 0 ")


def test_a_server_with_reflection_is_asked_for_what_arguments_are_called(project):
    asked = server()
    asked["command"] = asked["command"].replace("calls_server", "calls_server_reflection")
    project.write("filibuster.json", config([asked], [{"name": "client", "command": client("kinds")}], index={"stack": False},
                                            default_faults=False))
    run = project.filibuster("run")
    assert [rpc["arguments"] for rpc in run.test["reference"] if rpc["grpc"] in ("calls.Calls/Double", "calls.Calls/Count")] == [
        {"value": "21", "ballast": ""}, {"value": "-1", "ballast": ""}, {"value": "4", "ballast": ""}], run
    assert run.test["dependencies_not_tested"] == [] and run.test["nondeterminism"]["varied"] == []
