"""Records real conversations as seeds of relay_fuzz:  BUILD=build python3 tests/fuzz/record_relay.py [FOLDER]

A client and a server talk through relay_proxy (tests/integration/relay), which puts real faults into their streams.
This program stands on both sides of it and writes down what the client and the server sent, in the order it came, as the
steps of an 'anything' input (relay_fuzz.cc): the relay of the fuzz target is given what the relay was given.
"""
import pathlib
import selectors
import socket
import subprocess
import sys
import tempfile
import threading

import grpc
import hpack

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "integration"))
from conftest import BUILD, PYTHON, accepts, free_port, wait_until  # noqa: E402

# fault_number() of relay_fuzz.cc, in its order.
FAULTS = ["status:503", "status:503:after", "grpc:INTERNAL", "grpc:ABORTED:after", "refused", "reset", "reset:after",
          "timeout", "timeout:after", "status:204", "stream-reset", "stream-reset:CANCEL:after", "latency:5ms",
          "partial-message", "empty-message", "corrupt-message", "no-trailers", "grpc:ABORTED@2", "stream-reset@2",
          "latency:5ms@2", "goaway"]
LONGEST = 4096  # bytes of an input: -max_len of `make fuzz`
FROM_CLIENT, ORDER, FROM_SERVER, QUIET, TIME, TAKE_UP, TAKE_DOWN = 4, 3, 8, 9, 10, 14, 15
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS = 1, 4
GRPC = 1  # kOrderGrpc


class Recorder:
    """Copies connections to `target`, and gives `tell` what came from the side that is asked for."""

    def __init__(self, target, side, tell):
        self.target, self.side, self.tell = target, side, tell
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.copy, args=(near,), daemon=True).start()

    def copy(self, near):
        with near, socket.create_connection(("127.0.0.1", self.target())) as far, \
                selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, ("near", far))
            ready.register(far, selectors.EVENT_READ, ("far", near))
            while True:
                for key, _ in ready.select():
                    side, other = key.data
                    try:
                        data = key.fileobj.recv(65536)
                        if data and side == self.side:
                            self.tell(id(near), data)
                        if not data:
                            return
                        other.sendall(data)
                    except OSError:
                        return


class Conversation:
    """The first connection's steps."""

    def __init__(self):
        self.lock = threading.Lock()
        self.steps = bytearray([0, 0])  # anything; the server's SETTINGS are still to come
        self.connections = {}
        self.pending, self.begun, self.decoder = b"", False, hpack.Decoder()

    def first(self, side, connection):
        return self.connections.setdefault(side, connection) == connection

    def add(self, what, data):
        for at in range(0, len(data), 255):
            piece = data[at:at + 255]
            self.steps += bytes([what, len(piece)]) + piece

    def from_server(self, connection, data):
        with self.lock:
            if self.first("server", connection):
                self.add(FROM_SERVER, data)
                self.steps += bytes([TAKE_DOWN, TAKE_UP, TIME, 200])

    def from_client(self, connection, data):
        with self.lock:
            if not self.first("client", connection):
                return
            self.pending += data
            if not self.begun and self.pending.startswith(PREFACE):
                self.pending = self.pending[len(PREFACE):]
            while len(self.pending) >= 9 and len(self.pending) >= 9 + int.from_bytes(self.pending[:3], "big"):
                size = 9 + int.from_bytes(self.pending[:3], "big")
                self.frame(self.pending[:size])
                self.pending = self.pending[size:]
            self.steps += bytes([QUIET, TAKE_UP, TAKE_DOWN])

    def frame(self, frame):
        kind, flags, stream = frame[3], frame[4], int.from_bytes(frame[5:9], "big")
        if not self.begun:  # the hand-off follows the first SETTINGS
            self.begun = kind == SETTINGS
            return
        if kind == HEADERS:
            block = frame[9 + 5 * (flags >> 5 & 1):]  # after a priority; nobody here pads
            fields = dict(self.decoder.decode(block))
            _, named, number = fields[":path"].partition("fault=")
            number = number if named else fields.get("x-fault")
            if number is not None:
                called = GRPC if fields.get("content-type", "").startswith("application/grpc") else 0
                self.steps += bytes([ORDER, stream % 32, int(number), called, 0])
        self.add(FROM_CLIENT, frame)


def record(name, folder, server, talk):
    """`talk(port)` with the server of the command `server`; the seed is `name`."""
    serving = free_port()
    said = Conversation()
    near_server = Recorder(lambda: serving, "far", said.from_server)
    processes = [subprocess.Popen([str(word) for word in server(serving)], stdout=subprocess.DEVNULL)]
    wait_until(lambda: accepts(serving), "the server listens")
    proxy = subprocess.Popen([BUILD / "tests" / "relay_proxy", str(near_server.port), "300", *FAULTS],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(proxy.stdout.readline())
    talk(Recorder(lambda: port, "near", said.from_client).port)
    proxy.communicate(timeout=20)
    for process in processes:
        process.terminate()
        process.wait()
    with said.lock:
        assert 100 < len(said.steps) <= LONGEST, (name, len(said.steps))
        (folder / name).write_bytes(said.steps)
        print(name, len(said.steps))


def fault(name):
    return [("x-fault", str(FAULTS.index(name)))] if name else []


def calls(*faults):
    """One call of each kind with each of the faults, on one channel."""
    def talk(port):
        options = [("grpc.enable_retries", 0), ("grpc.primary_user_agent", "a")]
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            for name in faults:
                def ask(call, request):
                    try:
                        answer = call(request, metadata=fault(name), timeout=2)
                        return answer if isinstance(answer, bytes) else list(answer)
                    except grpc.RpcError as error:
                        return error.code()
                ask(channel.unary_unary("/t.T/Unary"), b"question")
                ask(channel.unary_stream("/t.T/Down"), b"4")
                ask(channel.stream_unary("/t.T/Up"), iter([b"one", b"two"]))
                ask(channel.stream_stream("/t.T/Both"), iter([b"one", b"two", b"three"]))
    return talk


def requests(*faults, client="nghttp", arguments=("-n",)):
    def talk(port):
        paths = [f"/?fault={FAULTS.index(name)}" if name else "/" for name in faults]
        subprocess.run([client, *arguments, *[f"http://127.0.0.1:{port}{path}" for path in paths]],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    return talk


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "tests" / "fuzz" / "corpus" / "relay"

    def grpc_server(port):
        return [PYTHON, REPOSITORY / "tests" / "integration" / "relay" / "grpc_server.py", port]

    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "index.html").write_text("hello\n")

        def nghttpd(port):
            return ["nghttpd", "-a", "127.0.0.1", "--no-tls", "-d", root, port]

        record("real-grpc", folder, grpc_server, calls(None))
        record("real-grpc-statuses", folder, grpc_server, calls("grpc:INTERNAL", "grpc:ABORTED:after"))
        record("real-grpc-messages", folder, grpc_server, calls("partial-message", "empty-message"))
        record("real-grpc-corrupt", folder, grpc_server, calls("corrupt-message", "no-trailers"))
        record("real-grpc-at-message", folder, grpc_server, calls("grpc:ABORTED@2", "stream-reset@2", "latency:5ms@2"))
        record("real-grpc-resets", folder, grpc_server, calls("stream-reset", "stream-reset:CANCEL:after", "refused"))
        record("real-grpc-goaway", folder, grpc_server, calls(None, "goaway"))
        record("real-nghttp", folder, nghttpd, requests(None, "status:503", "stream-reset", None, "status:503:after", "latency:5ms"))
        record("real-nghttp-late", folder, nghttpd, requests("latency:5ms", None, "timeout:after", "status:204", "goaway", None))
        record("real-curl", folder, nghttpd, requests(
            "status:503:after", client="curl", arguments=("-s", "--http2-prior-knowledge")))


if __name__ == "__main__":
    main()
