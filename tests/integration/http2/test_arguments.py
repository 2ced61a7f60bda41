"""Arguments of gRPC calls whose first message leaves in a later write than their head: streams of requests, and
whatever a proxy passes on that writes the two apart."""
import subprocess

import pytest

import pairs
from calls import CALLS, KINDS, client, server
from conftest import FILIBUSTER, PYTHON, REPOSITORY
from small_apps import config, printed, printing
from test_http2 import nginx

LANGUAGES = ["cpp", "python"]
# Of KINDS, in this order.
ARGUMENTS = [("Double", "21"), ("Double", "-1"), ("Sum", "1"), ("Count", "4"), ("Negate", "1")]


@pytest.fixture(scope="module")
def descriptors(tmp_path_factory):
    file = tmp_path_factory.mktemp("descriptors") / "calls.pb"
    subprocess.run(["protoc", f"-I{REPOSITORY}/tests/programs/http2", f"--descriptor_set_out={file}", "calls.proto"], check=True)
    return {"descriptors": str(file), "default_faults": False, "index": {"stack": False}}


def known(run, caller):
    return [(rpc["path"].removeprefix("/calls.Calls/"), rpc["arguments"] and rpc["arguments"]["value"])
            for rpc in run.test["reference"] if rpc["caller"] == caller]


def asked_in_each_execution(project, services, command, method, value, **members):
    """For each execution: what `command` printed, and what a predicate answers about that method with that value and
    with another: (['sum 0 [] 15'], 'no no')."""
    ask = f"{FILIBUSTER} was-fault-injected --grpc calls.Calls/{method} --argument value="
    told = "case $? in 0) echo yes;; 1) echo no;; *) echo error;; esac"
    test = {"name": "client", "command": printing(f"{command}; {ask}{value}; {told}; {ask}77; {told}")}
    project.write("filibuster.json", config(services, [test], bounds={"reference_executions": 1, "max_faults": 1}, **members))
    run = project.filibuster("run")
    assert "plan not met" not in run.output, run
    lines = [text.splitlines() for text in printed(run)]
    return run, [(of_client[:-2], " ".join(of_client[-2:])) for of_client in lines]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_kind_of_call_has_the_arguments_of_its_first_message(project, descriptors, language):
    project.write("filibuster.json", config([server()], [{"name": "client", "command": client("kinds", language=language)}], **descriptors))
    run = project.filibuster("run")
    assert known(run, "test") == ARGUMENTS, run


# Each client stays once, and each kind of call.
@pairs.each("language, method", [("cpp", "Sum"), ("python", "Negate")])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("method, value, faults", [
    ("Sum", 1, ["grpc:ABORTED", "grpc:ABORTED:after", "partial-message", "latency:10ms"]),
    ("Negate", 1, ["grpc:ABORTED@1", "partial-message", "stream-reset@2"])])
def test_a_predicate_knows_the_first_message_of_a_faulted_stream(project, descriptors, language, method, value, faults):
    """Of a fault that comes before it, too, by the execution index."""
    run, seen = asked_in_each_execution(
        project, [server()], client("kinds", language=language), method, value,
        faults=[{"on": {"caller": "test", "grpc": f"calls.Calls/{method}"}, "inject": faults}], **descriptors)
    assert seen[0] == (KINDS.splitlines(), "no no") and len(seen) == 1 + len(faults), seen
    assert [answer for _, answer in seen[1:]] == ["yes no"] * len(faults), seen


LONG = """
import sys
import grpc
import calls_pb2, calls_pb2_grpc
with grpc.insecure_channel("127.0.0.1:" + sys.argv[1]) as channel:
    stub = calls_pb2_grpc.CallsStub(channel)
    for size in map(int, sys.argv[2:]):
        assert len(stub.Double(calls_pb2.Number(value=size, ballast=bytes(size))).ballast) == size
        stub.Sum(calls_pb2.Number(value=value, ballast=bytes(size)) for value in (size, 1))
"""


def test_of_a_message_longer_than_512_bytes_the_whole_fields_are_known(project, descriptors):
    script = project.write("long.py", LONG)
    command = f"PYTHONPATH={CALLS} {PYTHON} {script} ${{port:front}} 450 600 50000"
    project.write("filibuster.json", config([server(), nginx(project)], [{"name": "client", "command": command}], **descriptors))
    run = project.filibuster("run")
    read = {"test": [], "front": []}
    for rpc in run.test["reference"]:
        asked = rpc["arguments"] or {}
        read[rpc["caller"]].append((asked.get("value"), len(asked["ballast"]) if "ballast" in asked else None))
    # The ballast is in base64.
    assert read["test"] == read["front"] == [("450", 600)] * 2 + [("600", None)] * 2 + [("50000", None)] * 2, run


def test_nginx_writes_the_head_of_a_call_apart_from_its_message(project, descriptors):
    run, seen = asked_in_each_execution(
        project, [server(), nginx(project)], client("kinds", to="front"), "Double", 21,
        faults=[{"on": {"caller": "front", "grpc": "calls.Calls/Double"}, "inject": ["grpc:ABORTED", "grpc:INTERNAL:after"]}],
        **descriptors)
    assert known(run, "front") == ARGUMENTS, run
    # Two calls, of which the second has another argument.
    assert seen[0][1] == "no no" and sorted(answer for _, answer in seen[1:]) == ["no no"] * 2 + ["yes no"] * 2, seen
