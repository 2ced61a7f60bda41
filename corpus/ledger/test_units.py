"""The teller and the accounts without Filibuster: one transfer after the other, many at once, and, before accounts that fail or whose
writes are late, what a transfer leaves behind."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import pytest

BUILT = pathlib.Path(__file__).resolve().parents[2] / "build" / "corpus" / "ledger"
pytestmark = pytest.mark.skipif(not (BUILT / "teller").exists(), reason=f"{BUILT}/teller is not built (make corpus)")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("FILIBUSTER_")}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, method, path, body=None):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read().decode()


class Reads:
    def __init__(self):
        self.lock, self.number, self.twice = threading.Lock(), 0, threading.Event()

    def came(self):
        with self.lock:
            self.number += 1
            if self.number == 2:
                self.twice.set()


class Held(http.server.BaseHTTPRequestHandler):
    """Accounts whose writes fail as `failures` says, before or after they were done. With `reads`, a write waits until A was read twice."""
    protocol_version = "HTTP/1.1"
    balances, failures, reads = {}, [], None

    def do_GET(self):
        name = self.path[-1]
        value = self.balances.get(name)
        self.answer(204 if value is None else 200, "" if value is None else str(value))
        if name == "A" and self.reads is not None:
            self.reads.came()

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.reads is not None:
            assert self.reads.twice.wait(30)
        failure = self.failures.pop(0) if self.failures else None
        if failure != "before":
            self.balances[self.path[-1]] = int(body)
        self.answer(503 if failure else 204, "")

    def do_POST(self):
        self.answer(204, "")

    def answer(self, status, text):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def start():
    with contextlib.ExitStack() as stack:
        def program(name, **env):
            port = free_port()
            process = subprocess.Popen([BUILT / name, str(port)], env={**CLEAN, **env})
            stack.callback(process.wait)
            stack.callback(process.kill)
            deadline = time.monotonic() + 30
            while True:
                with contextlib.suppress(OSError):
                    if ask(port, "GET", "/health")[0] == 204:
                        return port
                assert time.monotonic() < deadline and process.poll() is None, f"{name} did not start"
                time.sleep(0.02)

        def bank(accounts=None, **env):
            return Bank(program("teller", ACCOUNTS_URL=f"http://127.0.0.1:{accounts or program('accounts')}", **env))

        yield bank


@pytest.fixture
def held():
    Held.balances, Held.failures, Held.reads = {"A": 100, "B": 100, "C": 100}, [], None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Held) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


class Bank:
    def __init__(self, port):
        self.port = port

    def transfer(self, source, target, amount):
        return ask(self.port, "POST", "/transfer", json.dumps({"from": source, "to": target, "amount": amount}))[0]

    def balances(self):
        return {name: int(ask(self.port, "GET", f"/balance/{name}")[1]) for name in "ABC"}

    def at_once(self, *transfers):
        threads = [threading.Thread(target=self.transfer, args=one) for one in transfers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_money_moves_if_there_is_enough(start):
    bank = start()
    assert bank.balances() == {"A": 100, "B": 100, "C": 100}
    assert [bank.transfer("A", "B", 60), bank.transfer("A", "C", 60), bank.transfer("B", "C", 160)] == [200, 409, 200]
    assert bank.balances() == {"A": 40, "B": 0, "C": 260}
    assert [bank.transfer("A", "A", 1), bank.transfer("A", "X", 1), bank.transfer("A", "B", -1)] == [400] * 3
    assert ask(bank.port, "GET", "/balance/X")[0] == 404 and ask(bank.port, "POST", "/transfer", "{")[0] == 400
    assert ask(bank.port, "POST", "/reset")[0] == 204 and bank.balances() == {"A": 100, "B": 100, "C": 100}


def test_many_transfers_at_once(start):
    bank = start()
    bank.at_once(*[("A", "B", 1), ("B", "C", 2), ("C", "A", 3), ("B", "A", 1)] * 6)
    assert bank.balances() == {"A": 118, "B": 88, "C": 94}


@pytest.mark.parametrize("bug", ["no-lock", "early-unlock"])
def test_a_bug_loses_a_transfer_if_both_have_read_before_either_writes(start, held, bug):
    bank = start(held, BUG=bug)
    Held.reads = Reads()
    bank.at_once(("A", "B", 10), ("A", "C", 10))
    Held.reads = None
    assert bank.balances() == {"A": 90, "B": 110, "C": 110}


@pytest.mark.parametrize("failure", ["before", "after"])
def test_a_write_that_failed_is_done_again(start, held, failure):
    bank = start(held)
    Held.failures[:] = [failure] * 3
    assert bank.transfer("A", "B", 10) == 200 and bank.balances() == {"A": 90, "B": 110, "C": 100}


@pytest.mark.parametrize("failure", ["before", "after"])
def test_half_of_a_transfer_does_not_stay(start, held, failure):
    bank = start(held)
    Held.failures[:] = [None] + [failure] * 5
    assert bank.transfer("A", "B", 10) == 500
    Held.failures[:] = ["before"] * 5
    assert bank.transfer("C", "B", 10) == 503, "what is unfinished comes first, and could not be done"
    assert bank.balances() == {"A": 90, "B": 110, "C": 100}
