"""The web service without Filibuster, in both languages, before a queue that fails in each way once. The bugs show, each by its
fault, and the repaired service is right."""
import contextlib
import http.client
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time

import pytest

import ticket_queue

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build" / "corpus" / "job-queue" / "web"
WEBS = {"python": ["/usr/bin/python3", str(HERE / "web.py")], "cpp": [str(BUILT)]}
LATER = 0.2  # seconds
FAULTS = [(path, fault + after) for path in ("/enqueue", "/dequeue")
          for fault, afters in (("507", ("", ":after")), ("503", ("", ":after")), ("204", ("", ":after")), ("reset", ("", ":after")), ("late", ("",)))
          for after in afters]


class Faulty(ticket_queue.Handler):
    """A queue to which the next request of a path that is in `armed` fails, before or after the queue has acted. A fault of dequeue
    waits until there is a ticket, since the service asks for one all the time."""
    armed = {}

    def do_POST(self):
        waits = self.path == "/dequeue" and not ticket_queue.queue.items
        kind, _, after = ("" if waits else self.armed.pop(self.path, "")).partition(":")
        if not kind:
            return super().do_POST()
        self.instead = kind
        if after or kind == "late":
            super().do_POST()
        else:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(0)

    def answer(self, status, value=None):
        kind = vars(self).pop("instead", None)
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif kind == "late":
            time.sleep(LATER)
            super().answer(status, value)
        else:
            super().answer(int(kind) if kind else status, None if kind else value)


class Server(ticket_queue.Server):
    def handle_error(self, *_):
        """A service that was ended has reset its connections."""


@pytest.fixture(scope="module")
def queue():
    with Server(("127.0.0.1", 0), Faulty) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Web:
    def __init__(self, language, queue, **env):
        if language == "cpp" and not BUILT.exists():
            pytest.skip(f"{BUILT} is not built (make corpus)")
        Faulty.armed.clear()
        self.port = free_port()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FILIBUSTER_")}
        self.process = subprocess.Popen([*WEBS[language], str(self.port)], stderr=subprocess.PIPE, text=True,
                                        env={**clean, "QUEUE_URL": f"http://127.0.0.1:{queue}", **env})
        deadline = time.monotonic() + 30
        while not self.ready():
            assert time.monotonic() < deadline and self.process.poll() is None, f"{language} did not start"
            time.sleep(0.02)
        assert self.ask("POST", "/reset") == (204, b"")

    def ready(self):
        with contextlib.suppress(OSError):
            return self.ask("GET", "/health")[0] in (200, 204)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()

    def write(self, body):
        return self.ask("POST", "/", body)

    def read(self, index):
        return self.ask("GET", f"/{index}")

    def end(self):
        self.process.kill()
        return self.process.communicate()[1]


@pytest.fixture
def start(queue):
    started = []

    def begin(language, **env):
        started.append(Web(language, queue, **env))
        return started[-1]

    yield begin
    for web in started:
        if not web.process.stderr.closed:
            web.end()


@pytest.mark.parametrize("language", WEBS)
def test_what_is_written_can_be_read(start, language):
    web = start(language)
    bodies = [b"", b"one", bytes(range(256)) * 64]
    assert [web.write(body) for body in bodies] == [(200, b"0"), (200, b"1"), (200, b"2")]
    assert [web.read(index)[1] for index in range(3)] == bodies
    assert [web.read(index)[0] for index in (3, "9" * 18, "9" * 40, "x", "-1")] == [404] * 5
    assert web.ask("POST", "/reset")[0] == 204
    assert web.read(0)[0] == 404 and web.write(b"again") == (200, b"0")


@pytest.mark.parametrize("language", WEBS)
def test_repaired_it_is_right_under_each_fault(start, language):
    web = start(language)
    stored = []
    for path, fault in FAULTS:
        Faulty.armed[path] = fault
        body = f"{path} {fault}".encode()
        status, text = web.write(body)
        if status == 200:
            assert int(text) == len(stored), (path, fault)
            stored.append(body)
        else:
            assert (path, fault.partition(":")[0], status) == ("/enqueue", "507", 503), (path, fault, status, text)
    assert [web.read(index)[1] for index in range(len(stored))] == stored
    assert web.read(len(stored))[0] == 404


@pytest.mark.parametrize("language", WEBS)
def test_many_write_at_once_and_nothing_is_lost_or_stored_twice(start, language):
    web = start(language)
    answers = {}

    def writer(name):
        for turn in range(10):
            Faulty.armed[("/enqueue", "/dequeue")[turn % 2]] = ("reset:after", "reset", "503:after", "204:after")[(name + turn) % 4]
            body = b"%d of %d" % (turn, name)
            answers[body] = web.write(body)

    writers = [threading.Thread(target=writer, args=(name,)) for name in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert {status for status, _ in answers.values()} == {200}
    assert sorted(int(text) for _, text in answers.values()) == list(range(40))
    assert all(web.read(int(text)) == (200, body) for body, (_, text) in answers.items())
    assert web.read(40)[0] == 404


@pytest.mark.parametrize("language", WEBS)
def test_a_full_queue_is_told_of(start, language):
    web = start(language)
    Faulty.armed["/enqueue"] = "507"
    assert web.write(b"refused")[0] == 503 and web.read(0)[0] == 404
    assert web.write(b"next") == (200, b"0")


@pytest.mark.parametrize("language", WEBS)
def test_bug_full_waits_for_a_worker_that_knows_nothing_of_it(start, language):
    web = start(language, BUG="full", WORKER_TIMEOUT="2")
    Faulty.armed["/enqueue"] = "507"
    assert web.write(b"lost")[0] == 500 and web.read(0)[0] == 404
    assert web.write(b"next") == (200, b"0")


@pytest.mark.parametrize("language", WEBS)
def test_bug_dead_worker_dies_of_an_error(start, language):
    web = start(language, BUG="dead-worker", WORKER_TIMEOUT="2")
    assert web.write(b"well") == (200, b"0")
    Faulty.armed["/dequeue"] = "reset"
    if language == "cpp":  # the whole process ends
        with pytest.raises((OSError, http.client.HTTPException)):
            web.write(b"never")
        assert web.process.wait(30) != 0 and "QueueFailed" in web.end()
    else:
        assert web.write(b"never")[0] == 500 and web.write(b"nor this")[0] == 500 and web.read(0) == (200, b"well")
        assert "QueueFailed" in web.end()


@pytest.mark.parametrize("language", WEBS)
def test_bug_impatient_says_500_of_what_is_stored_afterwards(start, language):
    web = start(language, BUG="impatient")
    Faulty.armed["/dequeue"] = "late"
    assert web.write(b"late")[0] == 500
    deadline = time.monotonic() + 30
    while web.read(0) != (200, b"late"):
        assert time.monotonic() < deadline, "it was never stored"
        time.sleep(0.01)

