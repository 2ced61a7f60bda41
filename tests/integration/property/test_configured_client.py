"""The client of `filibuster property` that is configured (`filibuster property-client`): what it sends, that it sends it once, and what it
says of each way in which a server answers or does not."""
import json
import socket
import socketserver
import struct
import subprocess
import threading

import pytest

from conftest import FILIBUSTER, free_port

LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 9000000
ANSWERS = {
    "/good": b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"value\": 1}",
    "/open": b"HTTP/1.1 200 OK\r\n\r\n{\"value\": 2}",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"valu\r\n6\r\ne\": 3}\r\n0\r\n\r\n",
    "/moved": b"HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n",
    "/busy": b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
    "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"val",
    "/noise": b"hello\r\n\r\n",
    "/nothing": b"",
    "/large": LARGE,
}


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.request.recv(65536) or b"\r\n\r\n"
        head, _, body = data.partition(b"\r\n\r\n")
        first, *fields = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        while len(body) < int(headers.get("content-length", 0)):
            body += self.request.recv(65536)
        self.server.seen.append((first, headers, body.decode()))
        path = "/good" if len(self.server.seen) == self.server.soon_good else first.split(" ")[1]
        if path == "/silent":
            self.request.recv(1)  # until the client has gone
        elif path == "/reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            try:
                self.request.sendall(ANSWERS.get(path, ANSWERS["/good"]))
            except OSError:
                pass  # the client has heard enough


@pytest.fixture
def server():
    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
    with Server(("127.0.0.1", 0), Handler) as made:
        made.seen, made.soon_good = [], None
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(port, commands, *questions, timeout_ms=10000, reads=(), headers=None, path="", reset=()):
    settings = {"http": f"http://127.0.0.1:{port}{path}", "timeout_ms": timeout_ms, "headers": headers or {}, "reset": list(reset), "reads": list(reads),
                "commands": commands}
    lines = "".join(json.dumps(each) + "\n" for each in (settings, *questions))
    ran = subprocess.run([FILIBUSTER, "property-client"], input=lines, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and not ran.stderr, ran
    begun, *answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert begun == {"ok": None} and len(answers) == len(questions), ran
    return answers


@pytest.mark.parametrize("path, write, read", [
    ("/good", {"ok": 1}, {"ok": 1}),
    ("/open", {"ok": 2}, {"ok": 2}),
    ("/chunked", {"ok": 3}, {"ok": 3}),
    ("/moved", {"info": "302"}, {"fail": "302"}),
    ("/busy", {"fail": "503: busy"}, {"fail": "503: busy"}),
    ("/cut", {"info": "the connection ended before its answer"}, {"fail": "the connection ended before its answer"}),
    ("/noise", {"info": "the connection ended before its answer"}, {"fail": "the connection ended before its answer"}),
    ("/nothing", {"info": "the connection ended before its answer"}, {"fail": "the connection ended before its answer"}),
    ("/reset", {"info": "the connection ended before its answer"}, {"fail": "the connection ended before its answer"}),
    ("/large", {"info": "an answer of more than 8 MiB"}, {"fail": "an answer of more than 8 MiB"}),
])
def test_what_an_answer_means(server, path, write, read):
    port = server.server_address[1]
    command = {"method": "PUT", "path": path, "answer": "/value", "body": "${value}"}
    commands = {"write": command, "read": {**command, "method": "GET"}}
    assert ask(port, commands, {"do": "write", "value": 1, "process": "0"}, {"do": "read", "process": "0"}, reads=["read"]) == [write, read]
    # Once each: nobody does twice what may have been done.
    assert [first.split(" ")[0] for first, _, _ in server.seen] == ["PUT", "GET"]


def test_a_server_that_says_nothing_is_left_at_the_limit(server):
    commands = {"write": {"method": "PUT", "path": "/silent"}, "read": {"method": "GET", "path": "/silent"}}
    answers = ask(server.server_address[1], commands, {"do": "write"}, {"do": "read"}, timeout_ms=50, reads=["read"])
    assert answers == [{"info": "no answer within 50 ms"}, {"fail": "no answer within 50 ms"}]
    assert len(server.seen) == 2


def test_without_a_connection_nothing_was_done():
    (answer,) = ask(free_port(), {"write": {"method": "PUT", "path": "/"}}, {"do": "write"})
    assert answer == {"fail": "no connection"}


def test_a_request_has_what_is_configured(server):
    commands = {"put": {"method": "PATCH", "path": "/items/${key}?v=${value}&p=${process}", "body": {"${key}": ["${value}", "= ${value}"]},
                        "headers": {"X-Key": "k ${key}", "accept-encoding": "br"}},
                "say": {"method": "POST", "path": "/say", "text": "${value}"}, "remove": {"method": "DELETE", "path": "/"}}
    ask(server.server_address[1], commands, {"do": "put", "value": {"key": "a/b \u00e9", "value": 3}, "process": "4"}, {"do": "say", "value": "a\nb"},
        {"do": "remove"}, headers={"Authorization": "Bearer x"}, path="/api/")
    (put, fields, body), (say, said, text), (remove, _, _) = server.seen
    assert put == "PATCH /api/items/a%2Fb%20%C3%A9?v=3&p=4 HTTP/1.1" and json.loads(body) == {"a/b \u00e9": [3, "= 3"]}
    assert fields["authorization"] == "Bearer x" and fields["accept-encoding"] == "br" and fields["content-type"] == "application/json"
    assert fields["connection"] == "close"
    assert say == "POST /api/say HTTP/1.1" and text == "a\nb" and said["content-type"] == "text/plain; charset=utf-8"
    assert said["accept-encoding"] == "identity" and remove == "DELETE /api/ HTTP/1.1"


def test_a_reset_is_all_of_its_requests_until_one_fails(server):
    good, moved = {"method": "POST", "path": "/good"}, {"method": "POST", "path": "/moved"}
    assert ask(server.server_address[1], {}, {"do": "reset"}, reset=[good, good]) == [{"ok": None}]
    assert ask(server.server_address[1], {}, {"do": "reset"}, reset=[good, moved, good]) == [{"info": "302"}]
    assert len(server.seen) == 4


@pytest.mark.parametrize("path", ["/busy", "/reset"])
def test_a_reset_waits_until_the_last_fault_is_over(server, path):
    server.soon_good = 3
    assert ask(server.server_address[1], {}, {"do": "reset"}, reset=[{"method": "POST", "path": path}]) == [{"ok": None}]
    assert len(server.seen) == 3


def test_a_reset_does_not_wait_longer_than_its_limit(server):
    reset = [{"method": "POST", "path": "/busy"}]
    assert ask(server.server_address[1], {}, {"do": "reset"}, reset=reset, timeout_ms=200) == [{"fail": "503: busy"}]


def test_a_question_that_makes_no_sense_is_an_error(server):
    commands = {"put": {"method": "PUT", "path": "/${key}"}}
    answers = ask(server.server_address[1], commands, {"do": "get"}, {"do": "put", "value": 3}, 7)
    assert answers == [{"error": "there is no command 'get'"}, {"error": "there is no 'key' in the value 3, which ${key} stands for"},
                       {"error": "the question is no JSON object: 7"}]
    assert not server.seen
