"""Stream-reset, GOAWAY and latency where no gRPC is: curl, nghttp and Node against nghttpd and nginx. The other streams of
the connection go on."""
import re

import pytest

import pairs
from calls import server
from conftest import REPOSITORY
from small_apps import url
from test_fault_kinds import explore
from test_http2 import curl, log_of, nginx, web

# Fault: what curl 7.88 says; the error code that nghttp prints; what Node says of the stream.
NOT_CLEAN = "HTTP/2 stream 1 was not closed cleanly: "
RESETS = {
    "stream-reset": (NOT_CLEAN + "INTERNAL_ERROR (err 2)", "INTERNAL_ERROR(0x02)", "ERR_HTTP2_STREAM_ERROR"),
    "stream-reset:CANCEL": (NOT_CLEAN + "CANCEL (err 8)", "CANCEL(0x08)", "closed:8"),
    "stream-reset:ENHANCE_YOUR_CALM:after": (
        NOT_CLEAN + "ENHANCE_YOUR_CALM (err 11)", "ENHANCE_YOUR_CALM(0x0b)", "ERR_HTTP2_STREAM_ERROR"),
}


@pytest.fixture(params=["nghttpd", "nginx"])
def serving(request, project):
    """Services, and the name of the one that has /hello."""
    nghttpd = web(project.directory)
    return ([nghttpd], "web") if request.param == "nghttpd" else ([server(), nginx(project)], "front")


def requests_received(project, name):
    """How many streams of all executions the server saw; None where its log does not say."""
    return len(re.findall(r":path: /hello", log_of(project))) if name == "web" else None


def by_curl(project, serving, fault, executions=2):
    """What curl says of the first execution with a fault, of the number of executions that are expected."""
    services, name = serving
    write = "'%{http_code} %{time_starttransfer} %{errormsg}\\n'"
    run, seen = explore(project, services, curl("-o", "/dev/null", "-w", write, name=name).replace("-sSf", "-s"), [fault])
    assert len(seen) == executions and seen[0].startswith("200 "), seen
    status, seconds, *said = seen[1].strip().split(maxsplit=2)
    return status, float(seconds), "".join(said), requests_received(project, name)


@pytest.mark.parametrize("fault", RESETS)
def test_curl_names_the_reset(project, serving, fault):
    status, _, said, received = by_curl(project, serving, fault)
    assert (status, said) == ("000", RESETS[fault][0])
    assert received in (None, 1 + fault.endswith(":after"))


def test_curl_asks_again_for_what_was_not_looked_at(project, serving):
    # In the third execution each of its attempts has the fault; none of them reaches the server.
    status, _, _, received = by_curl(project, serving, "stream-reset:REFUSED_STREAM", executions=3)
    assert status == "200" and received in (None, 2)


def test_a_goaway_is_the_end_for_curl(project, serving):
    status, _, said, received = by_curl(project, serving, "goaway")
    assert (status, said) == ("000", "Error in the HTTP2 framing layer") and received in (None, 1)


def test_curl_waits_for_what_comes_late(project, serving):
    status, seconds, _, received = by_curl(project, serving, "latency:300ms")
    assert status == "200" and seconds >= 0.3 and received in (None, 2)


def by_nghttp(project, serving, fault):
    services, name = serving
    return explore(project, services, f"nghttp -nv {url(name, '/hello')} {url(name, '/hello?2')}", [fault])


@pytest.mark.parametrize("fault", RESETS)
def test_nghttp_gets_its_other_stream_beside_a_reset_one(project, serving, fault):
    run, seen = by_nghttp(project, serving, fault)
    assert run.executed == 3
    for printed in seen[1:]:
        resets = re.findall(r"recv RST_STREAM frame .*\n +\(error_code=(\S+)\)", printed)
        assert resets == [RESETS[fault][1]] and printed.count(":status: 200") == 1, printed
    # Either of the two, once.
    streams = [re.search(r"recv RST_STREAM frame <.*stream_id=(\d+)>", printed)[1] for printed in seen[1:]]
    assert len(set(streams)) == 2, streams


def test_nghttp_is_told_by_the_goaway_which_stream_was_the_last(project, serving):
    _, seen = by_nghttp(project, serving, "goaway")
    answered = {}
    for printed in seen[1:]:
        (last,) = re.findall(r"recv GOAWAY frame .*\n +\(last_stream_id=(\d+), error_code=NO_ERROR", printed)
        answered[int(last)] = printed.count(":status: 200")
    # Before the first stream, or after it: what was open ends as usual.
    first, second = sorted(answered)
    assert first < second and answered == {first: 0, second: 1}, answered


def by_node(project, serving, fault):
    services, name = serving
    run, seen = explore(project, services, f"node {REPOSITORY}/tests/programs/http2/client.mjs ${{port:{name}}} 4", [fault])
    assert run.executed == 5
    usual, *faulted = [printed.split() for printed in seen]
    assert usual == (["200"] * 4 if name == "web" else ["200", "405"] * 2)
    return usual, faulted


# Each server and each reset.
@pairs.each("serving, fault", [("nghttpd", "stream-reset"), ("nginx", "stream-reset:CANCEL"), ("nghttpd", "stream-reset:ENHANCE_YOUR_CALM:after")])
@pytest.mark.parametrize("fault", RESETS)
def test_node_sees_the_reset_of_one_stream(project, serving, fault):
    usual, faulted = by_node(project, serving, fault)
    assert sorted(faulted) == sorted([*usual[:n], RESETS[fault][2], *usual[n + 1:]] for n in range(4))


# Both servers are among the resets above; nginx has another one behind it.
@pairs.only("serving", ["nginx"])
def test_node_gets_what_was_open_before_a_goaway(project, serving):
    usual, faulted = by_node(project, serving, "goaway")
    assert sorted(faulted) == sorted([*usual[:n], *["ERR_HTTP2_STREAM_ERROR"] * (4 - n)] for n in range(4))


# One server stays, as above.
@pairs.only("serving", ["nginx"])
def test_node_gets_all_answers_where_one_is_late(project, serving):
    usual, faulted = by_node(project, serving, "latency:200ms")
    assert faulted == [usual] * 4
