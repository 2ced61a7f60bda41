"""What a caller over HTTP/2 sees of each kind of fault: only the faulted stream has it, the others of the same
connection go on."""
import re

import pytest

import pairs
from calls import KINDS, client, server
from conftest import REPOSITORY
from small_apps import config, printed, printing
from test_http2 import curl, web

# Fault and gRPC status of the call that gets it.
STATUSES = {"grpc:UNAVAILABLE": 14, "grpc:PERMISSION_DENIED": 7, "grpc:INTERNAL:after": 13, "status:503": 14,
            "reset": 14, "reset:after": 14}


def explore(project, services, command, injected, **members):
    """What the test printed in each execution; the first one had no fault."""
    project.write("filibuster.json", config(
        services, [{"name": "client", "command": printing(command)}], **{"bounds": {"reference_executions": 1, "max_faults": 1}, "default_faults": False,
                             "faults": [{"on": {"caller": "test"}, "inject": list(injected)}],
                             "index": {"stack": False}, **members}))
    run = project.filibuster("run")
    assert "plan not met" not in run.output, run
    assert run.test["dependencies_not_tested"] == [], run
    return run, printed(run)


def statuses(text):
    return [int(code) for code in re.findall(r"^\w+ (\d+) \[", text, re.M)]


# Python ends each of its requests, so that nothing is left out after the effect.
@pairs.only("language", ["python"])
@pytest.mark.parametrize("language", ["cpp", "python"])
def test_each_fault_gives_its_status_to_one_call_of_each_kind(project, language):
    run, seen = explore(project, [server()], client("kinds", language=language), STATUSES)
    assert seen[0] == KINDS
    usual = [0, 3, 0, 0, 0]
    # The last call in C++ waits for each answer before it asks on: its request never ends, and so
    # nothing comes after its effect but the hang limit's reset.
    ends = language == "python"
    wanted = [[*usual[:position], code if position != 4 or ends or ":after" not in fault else 1,
               *usual[position + 1:]]
              for fault, code in STATUSES.items() for position in range(5)]

    def first_change(row):
        """A reset may take the whole connection, if nothing else is open: the next call may meet its end."""
        (at, *_) = [n for n in range(5) if row[n] != usual[n]]
        following = row[at + 1:at + 2] if row[at:at + 2] != [14, 14] else usual[at + 1:at + 2]
        return [*row[:at + 1], *following, *row[at + 2:]]

    assert sorted(first_change(statuses(text)) for text in seen[1:]) == sorted(wanted), seen
    assert run.executed == 1 + len(wanted)


def test_a_connection_is_refused_to_the_first_call_on_it(project):
    run, seen = explore(project, [server()], client("kinds"), ["refused"])
    # A channel that was refused tries again after a while, and fails meanwhile; later on the
    # connection is open, and is reset.
    assert sum("Connection refused" in text for text in seen) >= 1, seen
    assert all(14 in statuses(text) for text in seen[1:]) and len(seen) == 6, seen


# A silence over gRPC is in grpc/test_grpc_node.py, too.
@pytest.mark.whole
def test_a_silence_ends_with_the_deadline_of_its_call_alone(project):
    run, seen = explore(project, [server()], client("silent"), ["timeout", "timeout:after"],
                        bounds={"reference_executions": 1, "max_faults": 1, "hang_limit": "2s"})
    assert seen[0] == "double 0 [] 2\ndouble 0 [] 4\n"
    first = [statuses(text) for text in seen[1:]]
    assert first.count([4, 0]) == 2, seen
    assert run.executed >= 5


def test_curl_and_nghttp_see_statuses_and_resets_of_streams(project):
    command = curl("-o", "/dev/null", "-w", "'%{http_code} %{errormsg}\\n'").replace("-sSf", "-s")
    run, seen = explore(project, [web(project.directory)], command,
                        ["status:404", "status:503:after", "reset", "reset:after", "refused"])
    assert seen[0] == "200 \n"
    codes = sorted(text.split()[0] for text in seen[1:])
    assert codes == ["000", "000", "000", "404", "503"], seen


def test_node_sees_a_fault_in_one_stream_of_its_session(project):
    node = f"node {REPOSITORY}/tests/programs/http2/client.mjs ${{port:web}} 6"
    run, seen = explore(project, [web(project.directory)], node, ["status:503", "reset"])
    assert seen[0].split() == ["200"] * 6
    assert run.executed == 1 + 2 * 6
    assert sorted(sorted(text.split()) for text in seen[1:]) == sorted(
        sorted(["200"] * 5 + [fault]) for fault in ["503", "ERR_HTTP2_STREAM_ERROR"] * 6), seen
