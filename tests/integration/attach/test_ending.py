"""Connections that were open before end politely, under load too, and nothing of an attach is left after its end."""
import contextlib
import http.client
import os
import socket
import subprocess

import pytest

import in_kernel
import loader_client
from attach_fixtures import Serves, Told, caller, echo, loader, need, proxy, started  # noqa: F401
from conftest import PYTHON, REPOSITORY, TESTS, accepts, free_port, wait_until

pytestmark = pytest.mark.alone
HERE = TESTS / "attach"


@pytest.fixture
def kept_server(started):  # noqa: F811
    """Keeps its connections, and ends them when it is told to."""
    return started(Serves, HERE / "kept_server.py", "127.0.0.1")


def attached(proxy, service, processes, ports=()):  # noqa: F811
    reply = proxy.attach(service, processes, ports)
    assert reply.error == 0, reply


def test_the_next_request_of_an_old_connection_says_that_it_is_the_last(caller, kept_server, proxy):  # noqa: F811
    need("pidfd_getfd")
    assert caller("kept", "127.0.0.1", kept_server.port).endswith("kept")
    attached(proxy, "users", [caller.pid])
    first = proxy.connection.retire()
    assert (first.error, first.found, first.open, first.staying, first.text) == (0, 1, 1, 0, "")
    assert caller("kept", "127.0.0.1", kept_server.port).endswith("closed")
    wait_until(lambda: proxy.connection.retire().open == 0, "the connection is closed")
    assert proxy.connection.retire().found == 1
    assert proxy.wanted == []
    assert caller("kept", "127.0.0.1", kept_server.port).endswith("kept")
    assert proxy.wanted == [("127.0.0.1", kept_server.port)]


def test_a_field_that_keeps_the_connection_is_changed_where_it_stands(kept_server, proxy, started):  # noqa: F811
    need("pidfd_getfd")
    client = started(Told, PYTHON, HERE / "kept_caller.py")  # requests says `Connection: keep-alive`
    assert client("get", kept_server.port) == "200 1 kept"
    attached(proxy, "users", [client.pid])
    assert proxy.connection.retire().found == 1
    assert client("get", kept_server.port) == "200 1 closed"
    assert client("get", kept_server.port) == "200 2 kept"
    assert proxy.wanted == [("127.0.0.1", kept_server.port)]


def test_the_next_answer_on_an_old_connection_says_that_it_is_the_last(caller, echo, proxy):  # noqa: F811
    need("pidfd_getfd")
    assert caller("kept", "127.0.0.1", echo.port).endswith("kept")
    attached(proxy, "movies", [echo.pid], [echo.port])
    assert proxy.connection.retire().found == 1
    assert caller("kept", "127.0.0.1", echo.port) == f"200 127.0.0.1:{echo.port} POST /called HTTP/1.1 closed"
    assert proxy.steered == []
    wait_until(lambda: proxy.connection.retire().open == 0, "the connection is closed")
    assert caller("kept", "127.0.0.1", echo.port).endswith("kept")
    assert proxy.steered == [("127.0.0.1", echo.port)]


NGINX = """
daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr; events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {directory}; proxy_temp_path {directory}; fastcgi_temp_path {directory};
  uwsgi_temp_path {directory}; scgi_temp_path {directory};
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{back}; }} }} }}
"""


class Nginx(Serves):
    """One process, which passes on what it gets when it has all of it."""

    def __init__(self, directory, back):
        self.port = free_port()
        (directory / "nginx.conf").write_text(NGINX.format(directory=directory, port=self.port, back=back))
        self.process = subprocess.Popen(["nginx", "-p", directory, "-c", directory / "nginx.conf"],
                                        env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin"})
        self.pid = self.process.pid
        wait_until(lambda: accepts(self.port), "nginx listens")


def test_nginx_reads_a_body_that_comes_in_parts_over_an_old_connection(kept_server, proxy, started, tmp_path):  # noqa: F811
    """It reads until the kernel says that nothing is left (FIONREAD), and then waits for news (EPOLLET). Of a socket in a
    sockhash, some kernels say that too early."""
    need("pidfd_getfd")
    nginx = started(Nginx, tmp_path, kept_server.port)
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=30)) as client:
        def is_kept():
            client.request("POST", "/", b"x" * 30_000)
            response = client.getresponse()
            assert response.status == 200 and response.read(), response
            return not response.will_close
        assert is_kept()
        attached(proxy, "front", [nginx.pid], [nginx.port])
        assert proxy.connection.retire().found == 1
        # An answer says it unless it is written in the moment in which its reader is helped.
        assert not all(is_kept() for _ in range(20)), "no answer said that it is the last one"


def test_a_connection_on_which_something_else_is_spoken_stays_and_is_named(loader, proxy, started):  # noqa: F811
    need("pidfd_getfd")
    talker = started(Told, PYTHON, "-c", """
import socket, sys
end = socket.create_connection(("127.0.0.1", int(sys.stdin.readline())))
for line in sys.stdin:
    end.sendall(b"GET the time, please\\r\\n")
    print(end.recv(100).decode().strip(), flush=True)
""")
    with loader_client.listener(socket.AF_INET) as other:
        port = other.getsockname()[1]
        talker.tell(port)
        accepted, source = other.accept()
        with accepted:
            def ask():
                talker.tell("ask")
                assert accepted.recv(100) == b"GET the time, please\r\n", "every byte arrives as it was sent"
                accepted.sendall(b"noon\n")
                assert talker.answer() == "noon"
            ask()
            other.close()  # so that the loader does not take it for a port of the daemon
            attached(proxy, "users", [talker.pid])
            assert proxy.connection.retire().staying == 0, "nothing was heard yet"
            assert in_kernel.rows_of_map(loader, "fb_open_before") == 1
            for _ in range(5):
                ask()
            wait_until(lambda: in_kernel.rows_of_map(loader, "fb_open_before") == 0, "what has said all is an ordinary socket again")
            reply = proxy.connection.retire()
            assert (reply.found, reply.open, reply.staying) == (1, 1, 1)
            assert f"1 to 127.0.0.1:{port} (neither HTTP/1.1 nor gRPC" in reply.text
            ask()


def test_under_load_no_request_fails_when_the_server_is_attached_and_detached(echo, proxy, started):  # noqa: F811
    need("pidfd_getfd")
    load = started(Told, PYTHON, HERE / "kept_caller.py", 4)
    load("load", echo.port)
    attached(proxy, "movies", [echo.pid], [echo.port])
    assert proxy.connection.retire().error == 0
    wait_until(lambda: proxy.connection.retire().open == 0, "the old connections have ended")
    wait_until(lambda: len(proxy.steered) >= 4, "all clients come through the proxy")
    proxy.connection.detach()
    count, failed, _first = load("stop").split(maxsplit=2)
    assert int(count) > 0 and (int(failed), _first) == (0, "[]")


def test_under_load_no_request_fails_when_the_client_is_attached_and_detached(kept_server, proxy, started):  # noqa: F811
    need("pidfd_getfd")
    load = started(Told, PYTHON, HERE / "kept_caller.py", 4)
    load("load", kept_server.port)
    attached(proxy, "users", [load.pid])
    wait_until(lambda: proxy.connection.retire().open == 0, "the old connections have ended")
    wait_until(lambda: len(proxy.wanted) >= 4, "all connections lead through the proxy")
    proxy.connection.detach()
    count, failed, _first = load("stop").split(maxsplit=2)
    assert int(count) > 0 and (int(failed), _first) == (0, "[]")


def test_clients_of_grpc_are_told_by_a_goaway_and_no_call_fails(proxy, started):  # noqa: F811
    need("pidfd_getfd")
    pytest.importorskip("grpc")
    server = started(Serves, REPOSITORY / "tests/integration/relay/grpc_server.py")
    client = started(Told, PYTHON, "-c", """
import sys, grpc
channel = grpc.insecure_channel(f"127.0.0.1:{sys.stdin.readline().strip()}")
call = channel.unary_unary("/t.T/Unary")
for line in sys.stdin:
    try:
        call(b"hello", timeout=30)
        print("OK", flush=True)
    except grpc.RpcError as error:
        print(error.code(), flush=True)
""")
    client.tell(server.port)
    assert client("call") == "OK"
    attached(proxy, "movies", [server.pid], [server.port])
    assert proxy.connection.retire().found >= 1

    def calls():
        assert client("call") == "OK"
        return proxy.steered
    wait_until(calls, "the client has opened a connection anew")
    wait_until(lambda: proxy.connection.retire().open == 0, "the old connection has ended")
    assert client("call") == "OK"


def test_a_connection_of_http2_that_is_not_grpc_stays_and_is_named(proxy, started):  # noqa: F811
    """Some clients fail what is in flight at a GOAWAY, and nobody knows how this one began."""
    need("pidfd_getfd")
    server = started(Serves, REPOSITORY / "tests/integration/retirement/deaf.py")
    headers, end_stream_and_headers = 1, 5
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client, client.makefile("rb") as answers:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))

        def ask(stream):
            block = b"\x82\x86\x84\x41\x01a"  # GET http / from a (RFC 7541)
            client.sendall(len(block).to_bytes(3, "big") + bytes([headers, end_stream_and_headers]) +
                           stream.to_bytes(4, "big") + block)
            while True:
                head = answers.read(9)
                body = answers.read(int.from_bytes(head[:3], "big"))
                assert head[3] in (headers, 4), "no GOAWAY"
                if head[3] == headers:
                    assert (int.from_bytes(head[5:], "big"), body) == (stream, b"\x88")
                    return
        ask(1)
        attached(proxy, "movies", [server.pid], [server.port])
        assert proxy.connection.retire().found == 1
        for stream in range(3, 27, 2):
            ask(stream)
        reply = proxy.connection.retire()
        assert (reply.found, reply.open, reply.staying) == (1, 1, 1)
        assert reply.text == f"1 at {server.port} (HTTP/2 that is not gRPC)"
        ask(27)


def test_a_socket_in_the_sockmap_of_another_program_is_named(caller, kept_server, proxy):  # noqa: F811
    need("pidfd_getfd")
    caller("kept", "127.0.0.1", kept_server.port)
    with in_kernel.sockmap_of_somebody_else(caller.pid):
        attached(proxy, "users", [caller.pid])
        reply = proxy.connection.retire()
        assert (reply.error, reply.found, reply.open, reply.staying) == (0, 1, 1, 1)
        assert "in the sockmap of another program" in reply.text


def test_ten_times_attached_and_detached_under_load_nothing_fails_and_nothing_is_left(loader, started, caller, echo):  # noqa: F811
    attach_and_detach(loader, started, caller, echo, rounds=10, held_rounds=7)


@pytest.mark.whole
def test_100_times_attached_and_detached_under_load_nothing_fails_and_nothing_is_left(loader, started, caller, echo):  # noqa: F811
    attach_and_detach(loader, started, caller, echo, rounds=100, held_rounds=90)


def attach_and_detach(loader, started, caller, echo, rounds, held_rounds):  # noqa: F811
    need("pidfd_getfd")
    held = started(loader_client.Proxy, loader)
    attached(held, "users", [caller.pid])
    load = started(Told, PYTHON, HERE / "kept_caller.py", 2)
    load("load", echo.port)
    steered = 0
    for number in range(rounds):
        if number == held_rounds:
            # From here on nothing else is attached, and all programs come and go with each round.
            held.connection.detach()
            held.let_go()
        proxy = loader_client.Proxy(loader)  # noqa: F811
        attached(proxy, "movies", [echo.pid], [echo.port])
        assert proxy.connection.retire().error == 0
        if proxy.connection.retire().open == 0:
            wait_until(lambda: proxy.steered, "a client comes through the proxy")
        assert proxy.connection.detach() == 0
        steered += len(proxy.steered)
        proxy.let_go()
    count, failed, _first = load("stop").split(maxsplit=2)
    assert int(count) > 0 and (int(failed), _first) == (0, "[]")
    assert steered > 0
    in_kernel.wait_until_nothing_is_held(loader)
    in_kernel.wait_until_nothing_is_left(loader)
