"""What filibuster-proxy does to bytes and to the ends of connections, without eBPF: nothing that their ends could see."""
import contextlib
import hashlib
import os
import pathlib
import random
import re
import select
import signal
import socket
import struct
import subprocess
import threading

import pytest

import pairs
from conftest import PRELOAD, wait_until
from proxied import PROXY

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Forwarder:
    """A proxy between `connect` and connections that `accept` gives."""

    def __init__(self, preload, kind):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.listener.settimeout(30)
        target = "127.0.0.1:%d" % self.listener.getsockname()[1]
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        self.process = subprocess.Popen(
            [PROXY, "--fixed", target, "--inner", target], stdout=subprocess.PIPE, text=True,
            env={**plain, **({"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_ATTACHED": "1 program"} if preload else {})})
        self.port = int(re.search(rf"{kind}=127.0.0.1:(\d+)", self.process.stdout.readline())[1])
        self.idle = 0
        self.idle = self.connections()

    def connect(self, receive_buffer=0):
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(30)
        client.connect(("127.0.0.1", self.port))
        return client

    def pair(self, **options):
        client = self.connect(**options)
        client.sendall(b"!")  # an outbound connection goes on with its first bytes
        server = self.listener.accept()[0]
        server.settimeout(30)
        assert server.recv(1) == b"!"
        return client, server

    def connections(self):
        """How many sockets the proxy has open for its connections."""
        folder = f"/proc/{self.process.pid}/fd"
        sockets = 0
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                sockets += os.readlink(f"{folder}/{fd}").startswith("socket:")
        return sockets - self.idle

    def own_memory(self):
        """Bytes that are no file's: those come and go with what else the machine does."""
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.listener.close()


@pytest.fixture(params=[(preload, kind) for preload in (False, True) for kind in ("outbound", "inbound")],
                ids=lambda value: f"{value[1]}{' with the library' if value[0] else ''}")
def forwarder(request):
    made = Forwarder(*request.param)
    yield made
    made.end()


def rest(connection):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            received += piece
    return received


def push(connection, total, seed):
    """Sends `total` bytes in pieces of random sizes, and then its end of stream. Returns their digest."""
    chance, digest = random.Random(seed), hashlib.sha256()
    while total:
        piece = chance.randbytes(min(total, chance.choice([1, 2, 100, 1000, 30_000, 100_000])))
        digest.update(piece)
        connection.sendall(piece)
        total -= len(piece)
    connection.shutdown(socket.SHUT_WR)
    return digest.hexdigest()


def pull(connection, seed):
    chance, digest, total = random.Random(seed), hashlib.sha256(), 0
    while piece := connection.recv(chance.choice([1, 10, 1000, 65536])):
        digest.update(piece)
        total += len(piece)
    return total, digest.hexdigest()


def test_64_connections_have_the_same_bytes_at_both_ends(forwarder):
    """Both directions at once, in pieces of random sizes, on each connection to its own end."""
    total, results = 300_000, {}

    def start(name, work, *arguments):
        def run():
            results[name] = work(*arguments)
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    threads = []
    for n in range(64):
        client, server = forwarder.pair()
        for side, (sender, receiver) in enumerate([(client, server), (server, client)]):
            threads.append(start((n, side, "sent"), push, sender, total, n * 2 + side))
            threads.append(start((n, side, "received"), pull, receiver, n))
    for thread in threads:
        thread.join(timeout=120)
    for n in range(64):
        for side in range(2):
            assert results[n, side, "received"] == (total, results[n, side, "sent"])


def test_a_half_closed_connection_goes_on_in_the_other_direction(forwarder):
    client, server = forwarder.pair()
    client.sendall(b"question")
    client.shutdown(socket.SHUT_WR)
    assert rest(server) == b"question"
    for n in range(3):
        server.sendall(b"answer")
        assert client.recv(100) == b"answer"
    server.close()
    assert client.recv(1) == b""


def test_the_servers_end_of_stream_comes_after_its_bytes_and_the_client_may_go_on(forwarder):
    client, server = forwarder.pair()
    server.sendall(b"a" * 500_000)
    server.shutdown(socket.SHUT_WR)
    assert rest(client) == b"a" * 500_000
    client.sendall(b"thanks")
    client.shutdown(socket.SHUT_WR)
    assert rest(server) == b"thanks"


def test_a_client_that_has_closed_its_socket_ends_the_servers_connection(forwarder):
    """A closed socket and a half-closed one send the same. Who waits for no answer must not look as if it did, also while the
    server says nothing: a silence that nobody waits for any more is no caller without a timeout."""
    client, server = forwarder.pair()
    client.sendall(b"question")
    client.close()
    assert rest(server) == b"question"
    wait_until(lambda: forwarder.connections() == 0, "the proxy has closed both connections")


def test_a_client_that_closes_after_it_has_half_closed_ends_the_servers_connection(forwarder):
    client, server = forwarder.pair()
    client.shutdown(socket.SHUT_WR)
    assert rest(server) == b""
    server.sendall(b"begin")
    assert client.recv(100) == b"begin"
    assert forwarder.connections() == 2
    client.close()
    wait_until(lambda: forwarder.connections() == 0, "the proxy has closed both connections")


def test_a_reset_of_the_server_is_a_reset_for_the_client(forwarder):
    client, server = forwarder.pair()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    server.close()
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_what_was_sent_before_a_reset_is_read_before_it(forwarder):
    client, server = forwarder.pair()
    server.sendall(b"half an answer")
    assert client.recv(4) == b"half"
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    server.close()
    assert client.recv(100) == b" an answer"
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_a_reset_of_the_client_is_a_reset_for_the_server(forwarder):
    client, server = forwarder.pair()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    client.close()
    with pytest.raises(ConnectionResetError):
        server.recv(1)


def test_a_refused_connection_is_a_reset_for_the_client(forwarder):
    forwarder.listener.close()
    # The reset may be there before the client looks at what became of its connect.
    with pytest.raises(ConnectionResetError):
        client = forwarder.connect()
        client.sendall(b"!")
        client.recv(1)


def test_a_refusal_waits_for_the_clients_first_bytes(forwarder):
    """Node's fetch never ends if its connection breaks between its connect and its request."""
    forwarder.listener.close()
    client = forwarder.connect()
    # The client is late: the proxy has been refused long before this moment has passed, and says nothing.
    assert select.select([client], [], [], 0.5)[0] == []
    wait_until(lambda: forwarder.connections() == 1, "the proxy has given the server up")
    client.sendall(b"!")
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    wait_until(lambda: forwarder.connections() == 0, "the proxy has closed the connection")


# Each forwarder stays once, and each end.
@pairs.each("forwarder, ends",
            [("(False, 'outbound')", "close"), ("(False, 'inbound')", "half-close"), ("(True, 'outbound')", "reset"), ("(True, 'inbound')", "wait")])
@pytest.mark.parametrize("ends", ["close", "half-close", "reset", "wait"])
def test_a_refusal_ends_with_its_client_and_does_not_wait_for_ever(forwarder, ends):
    forwarder.listener.close()
    client = forwarder.connect()
    wait_until(lambda: forwarder.connections() == 1, "the proxy was refused")
    if ends == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    if ends in ("close", "reset"):
        client.close()
    else:
        if ends == "half-close":
            client.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    wait_until(lambda: forwarder.connections() == 0, "the proxy has closed the connection")


def test_a_server_that_speaks_first_is_heard(forwarder):
    client = forwarder.connect()
    server = forwarder.listener.accept()[0]
    server.sendall(b"220 ready\r\n")
    assert client.recv(100) == b"220 ready\r\n"


# Each forwarder stays once, and each direction twice.
@pairs.each("forwarder, forwards", [("(False, 'outbound')", True), ("(False, 'inbound')", False), ("(True, 'outbound')", False), ("(True, 'inbound')", True)])
@pytest.mark.parametrize("forwards", [True, False], ids=["to the server", "to the client"])
def test_nothing_is_read_while_the_other_side_takes_nothing(forwarder, forwards):
    """A slow reader holds its sender back, and gets every byte in the end."""
    client, server = forwarder.pair(receive_buffer=4096)
    before = forwarder.own_memory()
    sender, receiver = (client, server) if forwards else (server, client)
    sender.setblocking(False)
    sent = hashlib.sha256()
    total, piece = 0, bytes(range(256)) * 256
    # Full: the socket takes nothing more although a moment passes in which the proxy could read.
    while select.select([], [sender], [], 1)[1]:
        taken = sender.send(piece)
        sent.update(piece[:taken])
        total += taken
    # All that the kernel's buffers take: each way has two connections, with a buffer at each end of each.
    kernel = sum(2 * int(pathlib.Path(f"/proc/sys/net/ipv4/tcp_{kind}mem").read_text().split()[2]) for kind in "rw")
    assert total < kernel + 2**20, "the proxy reads without a bound"
    assert forwarder.own_memory() - before < 4 * 2**20, "the proxy keeps what nobody takes"
    sender.setblocking(True)
    threading.Thread(target=lambda: sender.shutdown(socket.SHUT_WR)).start()
    assert pull(receiver, 1) == (total, sent.hexdigest())


def test_a_proxy_that_is_told_to_leave_ends_when_its_connections_have_ended(forwarder):
    client, server = forwarder.pair()
    forwarder.process.send_signal(signal.SIGTERM)
    for text in (b"neither", b"HTTP/1", b"nor HTTP/2"):  # it passes to its own end
        server.sendall(text)
        assert client.recv(100) == text
        client.sendall(text)
        assert server.recv(100) == text
    client.close()
    server.close()
    assert forwarder.process.wait(timeout=30) == 0


def test_a_proxy_whose_parent_has_gone_leaves(tmp_path):
    """The daemon was killed: nobody tells its proxies to leave."""
    script = f"{PROXY} --fixed 127.0.0.1:1 --inner 127.0.0.1:1 & echo $!; wait"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    said = sorted(shell.stdout.readline() for _ in range(2))  # the proxy and the shell, in any order
    assert said[1].startswith("listening "), said
    process = os.pidfd_open(int(said[0]))
    shell.kill()
    shell.wait()
    assert select.select([process], [], [], 30)[0], "the proxy has not ended"
    os.close(process)
