"""What callers see of faults at the calls of a gateway (gateways.py): the same for grpc-java and grpc-js."""
import collections
import re

from conftest import BUILD, PYTHON
from gateways import KINDS, SCRIPT, STUBS, explore, failures, fault_where, say, server, value_of
from rpc_tree import observe
from small_apps import relay

CANCELLED, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE = 1, 4, 13, 14
LINES = ["Double", "Double", "Sum", "Count", "Negate"]
# What a caller sees of each fault. A silence needs a deadline: `silent`.
STATUSES = {"grpc:UNAVAILABLE": UNAVAILABLE, "grpc:DEADLINE_EXCEEDED": DEADLINE_EXCEEDED, "grpc:INTERNAL:after": INTERNAL,
            "reset": UNAVAILABLE, "stream-reset:CANCEL": CANCELLED, "status:503": UNAVAILABLE}
PAIRWISE = {"Sum": ["grpc:UNAVAILABLE", "grpc:INTERNAL:after"], "Count": ["grpc:DEADLINE_EXCEEDED", "status:503"],
            "Negate": ["reset", "stream-reset:CANCEL"]}


def services(gateway):
    return [server(name="back"), relay("pages"), gateway]


def observe_kinds(project, gateway, stubs, clients):
    """One call of each kind, by each stub of the gateway, and by other languages' clients with it as the server."""
    command = " && ".join([*(say("kinds", stub) for stub in stubs), *clients])
    run = observe(project, services(gateway), f"{{ {command}; }} > printed")
    assert (project.directory / "printed").read_text() == KINDS * (len(stubs) + len(clients))
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    assert len(by_index) == len(rpcs), "each has an index of its own"
    made = [rpc for rpc in rpcs if rpc["caller"] == "gateway"]
    served = [rpc for rpc in rpcs if rpc["path"].startswith("/calls.") and rpc["caller"] == "test"]
    for calls, callers, service in ((made, len(stubs), "back"), (served, len(clients), "gateway")):
        assert [rpc["grpc"] for rpc in calls] == [f"calls.Calls/{method}" for method in LINES] * callers
        assert [rpc["grpc_status"] for rpc in calls] == ["OK", "INVALID_ARGUMENT", "OK", "OK", "OK"] * callers
        assert [rpc["grpc_message"] for rpc in calls if rpc["grpc_status"] != "OK"] == ["below zero: 50 % offä"] * callers
        assert {rpc["received_by"] for rpc in calls} <= {service}
    # Each command is a request, and its calls are its.
    parents = collections.Counter(rpc["parent"] for rpc in made)
    assert set(parents.values()) == {len(LINES)} and len(parents) == len(stubs)
    assert {by_index[parent]["path"] for parent in parents} == {"/matrix.Web/Get"}
    return made


def codes(printed):
    """[(what, code, answer)] of the calls; a message may have several lines."""
    return re.findall(r"^(\w+) (\d+) \[(?:.|\n)*?\] (\S+)$", printed, re.M)


def lines_changed(printed):
    """[(method, code)] of the calls that ended otherwise than without a fault."""
    usual, seen = codes(KINDS), codes(printed)
    assert [what for what, *_ in seen] == [what for what, *_ in usual], printed
    return [(LINES[at], int(call[1])) for at, call in enumerate(seen) if call != usual[at]]


def check_faults(project, gateway, stub, pairs, **members):
    """`pairs`: {method: faults}. Each gives its status to its call, and no other one sees anything."""
    run, seen = explore(project, gateway, say("kinds", stub), faults=[
        {"on": {"caller": "gateway", "grpc": f"calls.Calls/{method}"}, "inject": faults} for method, faults in pairs.items()],
        **members)
    # (What was tried again is noted, and was concluded.)
    assert seen[0] == KINDS and "WITHOUT A CONCLUSION" not in run.output, run
    # A request that goes on only when it is answered does not end: the hang limit's reset is all that it sees.
    wanted = sorted((method, CANCELLED if (method, fault) == ("Negate", "grpc:INTERNAL:after") else STATUSES[fault])
                    for method, faults in pairs.items() for fault in faults for _ in range(LINES.count(method)))
    assert sorted(sum(map(lines_changed, seen[1:]), [])) == wanted, seen
    assert run.executed == 1 + len(wanted), run


def check_refused(project, gateway, stub, said, **members):
    """A channel whose connection is refused fails at the first call, and while it waits to try again."""
    run, seen = explore(project, gateway, say("kinds", stub), ["refused"], "Double", **members)
    assert "plan not met" not in run.output, run
    assert len(seen) == 3 and seen[0] == KINDS, seen
    changed = [lines_changed(printed) for printed in seen[1:]]
    assert all(code == UNAVAILABLE for calls in changed for _, code in calls), seen
    # The second call is on the open connection: a reset, of its stream alone.
    assert sorted(len(calls) for calls in changed)[0] == 1 and any(calls[0] == ("Double", UNAVAILABLE) for calls in changed), seen
    assert any(re.search(said, printed) for printed in seen[1:]), seen


def check_silence(project, gateway, stub, **members):
    """Ends with the deadline of its call, whether the server saw it or not."""
    run, seen = explore(project, gateway, say("silent", stub), ["timeout", "timeout:after"], "Double", **members)
    count = "count 0 [] 1,2,3,4,\n"
    # On a busy machine an execution may be run again: its request is not held for longer than 0.1 s.
    assert seen[0] == count + "double 0 [] 2\n" + count and not run.test["skipped"], run
    answered = ("count", "0", "1,2,3,4,")
    assert [codes(printed) for printed in seen[1:]] == [[answered, ("double", "4", "0"), answered]] * 2, seen


def check_chosen(project, gateway, stub, threads, each, **members):
    """Every 7th call of many at once on one channel."""
    faulted, run, printed = fault_where(
        project, services(gateway), say("threads", stub, threads, each),
        lambda rpc: rpc["caller"] == "gateway" and value_of(rpc) % 7 == 0, "grpc:UNAVAILABLE",
        faults=[{"on": {"caller": "gateway"}, "inject": ["grpc:UNAVAILABLE"]}], **members)
    number = threads * each
    assert run.exit_code == 1 and len(faulted) == number // 7, run
    assert failures(printed) == {value: UNAVAILABLE for value in range(7, number + 1, 7)}
    assert printed.startswith(f"good {number - number // 7} wrong 0 ")


def check_retries(project, gateway, stub, **members):
    """Two calls, tried four times each: with at most four faults there are 15 ways to fail some of the attempts of the one
    and the other, and only four at the same call make it fail."""
    run, seen = explore(project, gateway, say("retries", stub, 2), ["grpc:UNAVAILABLE"],
                        **{"bounds": {"reference_executions": 1, "max_faults": 4}, **members})
    assert run.executed == 15 and "WITHOUT A CONCLUSION" not in run.output, run
    assert collections.Counter(seen) == {"good 2 wrong 0 failed 0\n": 13, "good 1 wrong 0 failed 1\n1: 14\n": 1,
                                         "good 1 wrong 0 failed 1\n2: 14\n": 1}, seen


# Of the gateway as a server.
CLIENTS = [f"{BUILD}/tests/http2/calls_client ${{port:gateway}} kinds",
           f"PYTHONPATH={STUBS['PYTHONPATH']} {PYTHON} {SCRIPT} kinds ${{port:gateway}}"]
