"""What is not HTTP/2 as RFC 9113 has it, or more of it than we keep, passes byte for byte, and is said; so is a fault
that cannot be put into a connection."""
import struct

import pytest

import pairs
from calls import fault_where
from conftest import PYTHON, REPOSITORY
from rpc_tree import chains
from small_apps import config, relay, url
from test_http2 import web

RAW = REPOSITORY / "tests" / "programs" / "http2" / "raw.py"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload) << 8 | kind) + struct.pack(">BI", flags, stream) + payload


START = PREFACE + frame(SETTINGS)
# :method GET, :path /, :scheme http; then "bomb" of 4,000 bytes into the table, and 100 times from there.
GET = b"\x82\x84\x86"
BOMB = GET + b"\x40\x04bomb\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 100

# What is sent, and what the report says of it.
CASES = {
    "a frame on stream zero": (START + frame(DATA, 0, 0, b"abc"), "stream"),
    "a frame that is too long": (START + frame(DATA, 0, 1, bytes(20_000)), "longer"),
    "no header compression": (START + frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff" * 40), "decoded"),
    "a bomb": (START + frame(HEADERS, END_HEADERS | END_STREAM, 1, BOMB), "header fields"),
    "headers without an end": (
        START + frame(HEADERS, END_STREAM, 1, GET) + frame(CONTINUATION, 0, 1, b"") * 100, "CONTINUATION"),
    "a block that is interrupted": (START + frame(HEADERS, END_STREAM, 1, GET) + frame(PING, 0, 0, bytes(8)), "interrupted"),
    "no SETTINGS": (PREFACE + frame(PING, 0, 0, bytes(8)), "SETTINGS"),
}


def sent_and_received(project, data, step):
    project.write("data", "").write_bytes(data)
    received = project.directory / "received"
    project.write("filibuster.json", config(
        [{"name": "raw", "command": f"exec {PYTHON} {RAW} serve ${{port:raw}} {received}"}, relay("back")],
        [{"name": "client", "command": f"{PYTHON} {RAW} send ${{port:raw}} data {step} && curl -sSf {url('back', '/after')}"}],
        default_faults=False, bounds={"reference_executions": 1}))
    run = project.filibuster("run")
    assert run.executed == 1, run
    # Whatever it was, the rest of the program goes on beside it.
    assert run.test["reference"][-1]["path"] == "/after" and run.test["reference"][-1]["status"] == 200
    return run, received.read_bytes()


# Each case with one size of writes, and each size.
@pairs.each("case, step", [("a frame on stream zero", 1), ("a frame that is too long", 1048576), ("no header compression", 7),
                           ("a bomb", 1), ("headers without an end", 7), ("a block that is interrupted", 1), ("no SETTINGS", 1)])
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_followed_passes_byte_for_byte_and_is_said(project, case, step):
    data, said = CASES[case]
    rest = data + b"anything at all" * 100  # nothing of it is looked at any more
    run, received = sent_and_received(project, rest, step)
    assert received == rest
    notes = [note for note in run.test["notes"] if "HTTP/2" in note]
    assert any(said in note for note in notes), run.test["notes"]
    assert {row["outgoing"] for row in run.test["dependencies_not_tested"]} == {True, False}, run


def test_floods_are_followed_without_keeping_anything(project):
    data = START + (frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) + frame(PING, 0, 0, bytes(8))) * 20_000
    data += b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET) + frame(RST_STREAM, 0, stream, bytes(4))
                     for stream in range(1, 3001, 2))
    run, received = sent_and_received(project, data, 1 << 20)
    rpcs = run.test["reference"][:-1]
    # Every request has its one field; nothing else is there that was not sent.
    assert len(rpcs) == 1500 and received.count(b"x-filibuster") == 1500
    assert len(received) - len(data) == 1500 * len(b"\0\x0cx-filibuster\x4a" + bytes(74)), run


@pytest.mark.parametrize("step", [1, 2, 3, 23])
def test_what_only_begins_like_the_preface_is_http1(project, step):
    request = b"PROPFIND / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
    run, received = sent_and_received(project, request, step)
    line, rest = request.split(b"\r\n", 1)
    # Either right after the request line or, where that had left already, at the end of the head.
    assert b"x-filibuster: 1-" in received
    start = received.index(b"x-filibuster: ")
    end = received.index(b"\r\n", start) + 2
    assert received[:start] + received[end:] == request
    assert chains(run) == ["test>back GET /after 200", "test>raw PROPFIND / 0"]


def test_a_fault_may_begin_at_any_byte_of_what_the_client_reads(project):
    rpcs, run, printed = fault_where(project, [web(project.directory)], f"{PYTHON} {RAW} halves ${{port:web}}",
                                     lambda rpc: rpc["path"] == "/none", "status:503", index={"stack": False})
    *statuses, failed = printed.splitlines()
    assert statuses == ["200 503"] * len(rpcs) and failed == f"failed {len(rpcs)}", run
    assert len(rpcs) > 100  # as many bytes have SETTINGS, HEADERS and DATA, and some more


def test_a_fault_on_a_connection_that_a_thread_waits_on_is_refused_and_said(project):
    """It could not be woken: the relay reads what it waits for."""
    project.write("filibuster.json", config(
        [web(project.directory)], [{"name": "client", "command": f"{PYTHON} {RAW} blocked ${{port:web}} >> seen"}],
        default_faults=False, bounds={"reference_executions": 1, "max_faults": 1},
        faults=[{"on": {"caller": "test"}, "inject": "status:503"}], index={"stack": False}))
    run = project.filibuster("run")
    assert set((project.directory / "seen").read_text().splitlines()) == {"200 200"}
    assert "another thread was waiting in a read of the connection" in run.output, run
