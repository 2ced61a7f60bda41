"""The primary without Filibuster, before a replica whose connection is reset, before or after it has taken the copy."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import threading
import time

import pytest

import replica

HERE = pathlib.Path(__file__).resolve().parent
armed = []  # what happens to the next copies: "", "reset", "reset:after", "503" or "503:after"


class Faulty(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind, _, after = (armed.pop(0) if self.path == "/copy" and armed else "").partition(":")
        status, value = 503, None
        if not kind or after:
            status, value = replica.answer(self.command, self.path, json.loads(body) if body else None)
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        text = json.dumps(value).encode() if status == 200 else b""
        self.send_response(int(kind) if kind else status)
        if kind or status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A primary that was ended has reset its connections."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, method, path, value=None):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, None if value is None else json.dumps(value))
        response = connection.getresponse()
        body = response.read()
        return response.status, json.loads(body)["value"] if response.status == 200 else None


class Store:
    def __init__(self, replica_port, **env):
        self.replica, self.primary = replica_port, free_port()
        armed.clear()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FILIBUSTER_")}
        self.process = subprocess.Popen(["/usr/bin/python3", str(HERE / "primary.py"), str(self.primary)],
                                        env={**clean, "REPLICA_URL": f"http://127.0.0.1:{replica_port}", **env})
        deadline = time.monotonic() + 30
        while not self.ready():
            assert time.monotonic() < deadline and self.process.poll() is None, "the primary did not start"
            time.sleep(0.02)

    def ready(self):
        with contextlib.suppress(OSError):
            return ask(self.primary, "GET", "/health")[0] == 204

    def put(self, key, value):
        return ask(self.primary, "PUT", f"/keys/{key}", {"value": value})[0]

    def get(self, key):
        """What the replica has, and what the primary has."""
        return ask(self.replica, "GET", f"/keys/{key}")[1], ask(self.primary, "GET", f"/keys/{key}")[1]


@pytest.fixture
def start():
    with contextlib.ExitStack() as stack:
        replica.data.clear()
        replica.emptied = 0
        server = stack.enter_context(Server(("127.0.0.1", 0), Faulty))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        stack.callback(server.shutdown)

        def begin(**env):
            store = Store(server.server_address[1], **env)
            stack.callback(store.process.wait)
            stack.callback(store.process.kill)
            return store

        yield begin


FAULTS = ["reset", "reset:after", "503", "503:after"]


@pytest.mark.parametrize("fault", FAULTS)
def test_repaired_both_have_what_was_written(start, fault):
    store = start()
    assert store.put("a", 1) == 204
    armed.append(fault)
    assert store.put("a", 2) == 204 and store.get("a") == (2, 2)


def test_repaired_it_says_that_nobody_knows(start):
    store = start()
    (tries,) = re.findall(r"^TRIES = (\d+)", (HERE / "primary.py").read_text(), re.M)
    armed.extend(["reset:after"] * int(tries))
    assert store.put("a", 1) == 500 and store.get("a") == (1, 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_bug_says_of_a_copy_that_was_taken_that_it_was_not_made(start, fault):
    store = start(BUG="roll-back")
    assert store.put("a", 1) == 204
    armed.append(fault)
    assert store.put("a", 2) == 503 and store.get("a") == ((2, 1) if fault.endswith(":after") else (1, 1))


def test_a_copy_that_comes_late_or_again_changes_nothing(start):
    store = start()
    assert [store.put("a", value) for value in (1, 2)] == [204, 204]
    assert ask(store.replica, "POST", "/copy", {"key": "a", "value": 1, "version": 1})[0] == 204
    assert store.get("a") == (2, 2)
    assert ask(store.primary, "POST", "/reset")[0] == 204 and store.get("a") == (None, None)
    assert ask(store.replica, "POST", "/copy", {"key": "a", "value": 2, "version": 2})[0] == 204
    assert store.get("a") == (None, None)
    assert store.put("a", 3) == 204 and store.get("a") == (3, 3)


def test_a_replica_that_is_not_there_has_no_copy(start):
    store = start(REPLICA_URL=f"http://127.0.0.1:{free_port()}")
    assert store.put("a", 1) == 503 and store.get("a") == (None, None)
