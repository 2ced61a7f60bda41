"""What is only watched (`trace --follow`) leads past the proxy, and each request is seen all the same. (Where the kernel does not tell
the bytes of both directions, it leads over the proxy, as in other sessions: test_attach.py.)"""
import http.client
import os
import pathlib
import signal
import socket

import pytest

from attach_fixtures import BASIC, need
from conftest import PYTHON
from processes import events
from running import Session, run_already  # noqa: F401
from small_apps import config

pytestmark = pytest.mark.alone
SERVER = pathlib.Path(__file__).with_name("watched_server.py")
READS, ANSWERS = ["recv", "recvmsg", "readv", "read"], ["plain", "gathered", "file", "large", "chunked"]


@pytest.fixture(scope="module", autouse=True)
def kernel():
    need(*BASIC, "tp_btf writes", "tp_btf reads")


def last_of(process, kind, before=None):
    """The last event of this kind, at most up to one of the kind `before`."""
    found = None
    for event in events(process):
        found = event if event["type"] == kind else found
        if event["type"] == (before or kind):
            return found
    raise AssertionError(process.stderr.read())


@pytest.fixture
def follow(project, run_already):  # noqa: F811
    """The port of a server that is followed, and a function that ends that and returns its last table."""
    running = run_already(config([{"name": "shop", "command": f"exec {PYTHON} {SERVER} ${{port:shop}}"}], []))
    process = project.start("trace", "--follow", "--json", "--attach", f"shop=port:{running.ports['shop']}")
    last_of(process, "session")

    def end():
        process.send_signal(signal.SIGINT)
        table = last_of(process, "calls", before="done")
        assert process.wait(timeout=60) == 0 and running.unharmed and table["unseen"] == 0, table
        return table
    return running.ports["shop"], end


def counted(table):
    """{call: (how often, how often it failed)}, of a table from which nothing is missing."""
    assert table["lost"] == table["cut_off"] == 0, table
    return {row["call"]: (row["count"], row["failed"]) for row in table["calls"]}


def test_requests_are_seen_however_they_are_read_and_answered_and_the_server_sees_its_clients(follow):
    port, end = follow
    paths = [f"/{read}/{answer}" for read in READS for answer in ANSWERS]
    for connection in (http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(2)):
        for path in paths:
            connection.request("GET", path)
            body = connection.getresponse().read()
            own = str(connection.sock.getsockname()[1]).encode()
            assert body == own or len(body) == {"large": 1 << 20, "chunked": 40_000}[path.split("/")[-1]], path
        connection.close()
    assert counted(end()) == {f"GET {path}": (2, 0) for path in paths}


def test_requests_in_pieces_and_several_at_once_are_seen_and_one_without_an_answer_has_failed(follow):
    port, end = follow
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        answers = client.makefile("rb")
        for piece in (b"GET /recv/pl", b"ain HTTP/1.1\r\nHo", b"st: x\r\n\r\n"):
            client.sendall(piece)
        assert answers.readline() == b"HTTP/1.1 200 OK\r\n" and answers.read(25)
        client.sendall(b"GET /recv/gathered HTTP/1.1\r\n\r\n" * 3 + b"GET /recv/silent HTTP/1.1\r\n\r\n")
        assert answers.read().count(b"200 OK") == 3
    assert counted(end()) == {"GET /recv/plain": (1, 0), "GET /recv/gathered": (3, 0), "GET /recv/silent": (1, 1)}


def test_what_comes_while_nobody_reads_is_counted_as_lost_and_the_connection_is_followed_again(follow, project):
    port, end = follow
    (proxy,) = Session(project).of("filibuster-proxy")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def get(path):
        connection.request("GET", path)
        return connection.getresponse().read()
    os.kill(proxy, signal.SIGSTOP)
    try:
        for _ in range(60):  # 64 KiB of each are told, and 2 MiB fit
            get("/recv/large")
    finally:
        os.kill(proxy, signal.SIGCONT)
    for _ in range(3):
        get("/recv/plain")
    connection.close()
    table = end()
    seen = {row["call"]: row["count"] - row["failed"] for row in table["calls"]}  # with their ends
    assert table["lost"] > 0 and "were lost" in table["text"] and 0 < seen["GET /recv/large"] < 60, table
    assert seen["GET /recv/plain"] >= 1, table
