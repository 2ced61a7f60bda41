"""Requests of an attached Go program over TLS are seen in its memory: a stripped static client and a server, both of Go's own."""
import collections
import json
import re

import pytest

import certificates
from attach_fixtures import BASIC, need, skip
import pairs
from conftest import BUILD
from small_apps import config, printed, printing, url

pytestmark = pytest.mark.alone

SECURE = BUILD / "tests" / "go" / "secure"
PROTOCOLS = ["HTTP/1.1", "HTTP/2"]
# Each as the client's function asks for it, and the status of its answer.
EACH = [("GET", "/first", 200, "main.first"), ("GET", "/second", 500, "main.second"), ("POST", "/third", 200, "main.third")]


@pytest.fixture(scope="module", autouse=True)
def everything_is_there():
    need(*BASIC, "uprobe")
    if not SECURE.exists():
        skip("Go over TLS", "golang is missing: apt-get install golang-go")


def services(tls, protocol, **members):
    environment = {**certificates.trusted(tls), "GODEBUG": "http2client=0" if protocol == "HTTP/1.1" else ""}
    return [{"name": "back", "command": f"exec {SECURE} serve ${{port:back}} {tls}", "interpose": "bpf"},
            {"name": "front", "command": f"exec {SECURE} ask ${{port:front}} https://localhost:${{port:back}}", "interpose": "bpf",
             "env": environment, **members}]


def asked(rpcs):
    """The client's calls, in their order."""
    return [rpc for rpc in rpcs if rpc["caller"] == "front"]


def named(rpc):
    return rpc["method"], rpc["path"].split("?")[0], int(rpc["outcome"].split(":")[1])


def traced(project):
    trace = project.filibuster("trace", "--json")
    assert trace.exit_code == 0, trace
    return asked(json.loads(trace.output.splitlines()[-1])["trace"]["rpcs"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_request_on_a_kept_connection_is_an_rpc_with_its_status_and_call_site(project, tls, protocol):
    project.write("filibuster.json", config(services(tls, protocol), [{"name": "ask", "command": f"curl -sS {url('front', '/each')}"}]))
    rpcs = traced(project)
    assert [named(rpc) for rpc in rpcs] == [row[:3] for row in EACH], rpcs
    for rpc, (_, _, _, site) in zip(rpcs, EACH, strict=True):
        assert (rpc["service"], rpc["protocol"], rpc["cause"]) == ("back", "tls", "task"), rpc
        assert any(f"({site})" in frame for frame in rpc["stack"]), rpc


@pairs.only("protocol", ["HTTP/2"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_goroutines_at_a_time_have_a_request_each(project, tls, protocol):
    project.write("filibuster.json", config(services(tls, protocol), [{"name": "ask", "command": f"curl -sS {url('front', '/both')}"}]))
    rpcs = traced(project)
    assert sorted(named(rpc) for rpc in rpcs) == [("GET", "/left", 200), ("GET", "/right", 200)], rpcs
    for rpc in rpcs:
        assert rpc["cause"] == "task" and any("main." + rpc["path"].strip("/") in frame for frame in rpc["stack"]), rpc


def test_a_target_is_as_it_is_sent(project, tls):
    project.write("filibuster.json", config(services(tls, "HTTP/1.1"), [{"name": "ask", "command": f"curl -sS {url('front', '/odd')}"}]))
    (rpc,) = traced(project)
    assert rpc["path"] == "/a%20b/c%2Fd?e=f%20g", rpc


def test_a_status_is_known_where_the_server_closes_the_connection_behind_it(project, tls):
    project.write("filibuster.json", config(services(tls, "HTTP/1.1"), [{"name": "ask", "command": f"curl -sS {url('front', '/closing')}"}]))
    assert [named(rpc) for rpc in traced(project)] == [("GET", "/closing", 204)] * 30


def test_a_connection_that_the_server_ends_without_an_answer_ends_its_request(project, tls):
    project.write("filibuster.json", config(services(tls, "HTTP/1.1"), [{"name": "ask", "command": f"curl -sS {url('front', '/dropped')}"}]))
    (rpc,) = traced(project)
    assert (rpc["path"], rpc["outcome"]) == ("/dropped", "reset=closed"), rpc


@pairs.only("protocol", ["HTTP/1.1"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_requests_at_a_time_are_told_apart_and_none_fails(project, tls, protocol):
    test = {"name": "ask", "command": f"curl -sS {url('front', '/crowd')} > answers"}
    project.write("filibuster.json", config(services(tls, protocol), [test]))
    rpcs = traced(project)
    assert (project.directory / "answers").read_text().split() == ["200"] * 200
    assert sorted(named(rpc) for rpc in rpcs) == sorted(("GET", f"/crowd/{i}", 200) for i in range(40) for _ in range(5)), rpcs
    assert {rpc["cause"] for rpc in rpcs} == {"task"}, rpcs


# What the client prints for its three requests when the second one meets the fault. Over HTTP/1.1 net/http repeats a GET after a
# reset of a kept connection by itself. Over HTTP/2 nobody answers any more on the connection of a request that got no answer: the next one
# over it fails, too, and is an RPC all the same.
SECOND = {
    ("HTTP/1.1", "refused"): ["200", "500", "200"], ("HTTP/1.1", "reset"): ["200", "500", "200"],
    ("HTTP/2", "refused"): ["200", "broken", "200"], ("HTTP/2", "reset"): ["200", "broken", "200"],
    ("HTTP/1.1", "timeout"): ["200", "timeout", "200"], ("HTTP/2", "timeout"): ["200", "timeout", "broken"],
    ("HTTP/1.1", "latency:100ms"): ["200", "500", "200"], ("HTTP/2", "latency:100ms"): ["200", "500", "200"],
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fault_hits_the_second_request_of_a_connection_and_no_other(project, tls, protocol):
    faults = [fault for name, fault in SECOND if name == protocol]
    project.write("filibuster.json", config(
        services(tls, protocol, restart="each"), [{"name": "ask", "command": printing(f"curl -sS {url('front', '/each')}")}],
        default_faults=False, faults=[{"on": {"service": "back", "method": "GET", "path": "/second"}, "inject": faults}],
        bounds={"max_faults": 1, "reference_executions": 1}))
    run = project.filibuster("run", "--no-snapshot")
    assert run.exit_code == 0 and "plan not met" not in run.output, run
    said = {fault: SECOND[protocol, fault] for fault in faults}
    # Over HTTP/1.1, net/http repeats what was reset: one execution more resets the repetition, too.
    further = 1 if protocol == "HTTP/1.1" else 0
    assert run.executed == 1 + len(said) + further, run
    # Over HTTP/2 the third request fails with the connection: it is told so, or is over its time before that, whichever comes first.
    seen = collections.Counter(("200", "timeout", "broken") if text.split() == ["200", "timeout", "timeout"] and protocol == "HTTP/2"
                               else tuple(text.split()) for text in printed(run))
    expected = collections.Counter(map(tuple, [["200", "500", "200"], *said.values()]))
    assert not expected - seen and (seen - expected).total() == further, printed(run)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_fault_hits_its_request_where_the_client_keeps_its_connections_over_the_executions(project, tls, protocol):
    faults = ["refused", "reset", "timeout", "latency:50ms"]  # the last one is tried first, and its connection is kept
    project.write("filibuster.json", config(
        services(tls, protocol), [{"name": "ask", "command": printing(f"curl -sS {url('front', '/each')}")}], default_faults=False,
        faults=[{"on": {"service": "back"}, "inject": faults}], bounds={"max_faults": 1, "reference_executions": 1}))
    run = project.filibuster("run", "--no-snapshot")
    assert run.exit_code == 0 and "plan not met" not in run.output, run
    # One execution more resets the repetition of what net/http repeats.
    further = 1 if protocol == "HTTP/1.1" else 0
    assert run.executed == 1 + len(faults) * len(EACH) + further and run.test["rpcs"]["untested"] == [], run
    assert not [row for row in run.test["dependencies_not_tested"] if row["reason"] == "encrypted"], run
    for place in range(len(EACH)):
        # Each has its timeout, and none that is not its own.
        assert sum(text.split()[place] == "timeout" for text in printed(run)) == 1, printed(run)


def outcomes(run):
    """Of the calls of the failing execution, in their order."""
    (tree,) = json.loads(re.search(r'"trees":(\{.*?\}\]\})', (run.root / "report.html").read_text())[1]).values()
    return [call["outcome"] for call in tree]


def test_over_http2_the_next_request_fails_with_the_connection_and_the_failure_replays(project, tls):
    check = f"curl -sS {url('front', '/each')} | tail -n 1 | grep -qx 200"
    project.write("filibuster.json", config(
        services(tls, "HTTP/2", restart="each"), [{"name": "ask", "command": check}], default_faults=False,
        faults=[{"on": {"service": "back", "path": "/second"}, "inject": ["timeout"]}], bounds={"max_faults": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["caller"], fault["service"], fault["method"], fault["path"], fault["protocol"], fault["fault"]) == \
        ("front", "back", "GET", "/second", "tls", "timeout"), run
    # The third request may never leave, or be over its time before the connection is known to be lost.
    seen = outcomes(run)
    assert finding["reproduced"] and seen[:3] == ["200", "200", "timed-out"] and seen[3:] in ([], ["reset"], ["timed-out"]), run
    again = project.filibuster("replay", str(run.root / "counterexamples" / "1.json"))
    assert again.exit_code == 1, again
