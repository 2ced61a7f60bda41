"""A service that calls over TLS and plays the observer of a Go program (apps/attached.py): it says what its bytes are requests
of, as the probes of eBPF would.

told.py PORT BACK AUTHORITY: for GET /NAME it does what the function of that name does, over one connection to the loopback port
BACK, whose certificate AUTHORITY (a file) has signed.
"""
import http.server
import os
import socket
import ssl
import struct
import sys
import threading

port, back, authority = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
events = socket.socket(fileno=int(os.environ["EVENTS_FD"]))
# bpf/attached.h
WRITE, READ, CALL, ANSWER = 1, 2, 4, 5
LOST, NO_REQUEST, HTTP2, RAW_PATH = 1 << 8, 1, 1, 2  # LOST: one event is missing by now
numbers = iter(range(1000, 1 << 30))


def address(number):
    return struct.pack("=16sHH", bytes(10) + b"\xff\xff\x7f\0\0\1", number, 0)


def tell(kind, local=0, position=0, size=0, flags=0, status=0, call=0, more=b""):
    """One fb_event."""
    events.send(struct.pack("=IIIIQQ", kind, 0, os.getpid(), threading.get_native_id(), 0, 0) + address(local) + address(back)
                + struct.pack("=IIIiIIQ", position, size, flags, 0, 0, status, call) + more)


class Connection:
    """Of TLS. It says of each piece, before it is sent, which request it is of."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", back))
        self.local, self.position = self.socket.getsockname()[1], 0
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = ssl.create_default_context(cafile=authority).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush(0)
                self.incoming.write(self.socket.recv(65536))
        self.flush(0)

    def flush(self, call):
        data = self.outgoing.read()
        if data:
            tell(WRITE, self.local, self.position, len(data), call=call)
            self.socket.sendall(data)
            self.position += len(data)

    def ask(self, path, call):
        self.tls.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.flush(call)

    def answers(self, number):
        """Waits for so many answers of the server."""
        text = b""
        while text.count(b"\r\n\r\n") < number:
            try:
                text += self.tls.read(65536) or sys.exit("the server has closed the connection")
            except ssl.SSLWantReadError:
                self.incoming.write(self.socket.recv(65536))


def announce(path, flags=0):
    call = next(numbers)
    texts = [b"", f"localhost:{back}".encode(), path.encode(), b""]
    tell(CALL, call=call, more=struct.pack("=IIIIII16s256s1024s1024s", *map(len, texts), flags, 0, *texts))
    return call


def two(connection):
    """One after the other."""
    for path, status in ("/a", 201), ("/b", 503):
        call = announce(path)
        connection.ask(path, call)
        connection.answers(1)
        tell(ANSWER, call=call, status=status)


def together(connection):
    """At a time; the second is answered first, and the caller of the first gives up."""
    calls = [announce(path, HTTP2) for path in ("/a", "/b")]
    for path, call in zip(("/a", "/b"), calls):
        connection.ask(path, call)
    connection.answers(2)
    tell(ANSWER, call=calls[1], status=200)
    tell(ANSWER, call=calls[0])


def body(connection):
    """What is sent of a request after its first bytes is a part of it."""
    call = announce("/a")
    connection.ask("/a", call)
    connection.ask("/body", call)
    connection.answers(2)
    tell(ANSWER, call=call, status=200)


def own(connection):
    """What the connection itself needs is no request, and neither is what nobody announces from then on."""
    connection.ask("/preface", NO_REQUEST)
    connection.ask("/window", 0)
    call = announce("/a", HTTP2)
    connection.ask("/a", call)
    connection.answers(3)
    tell(ANSWER, call=call, status=200)


def lost(connection):
    """Events are missing behind the first request, and say nothing of the second one."""
    call = announce("/a")
    connection.ask("/a", call)
    connection.answers(1)
    tell(READ, flags=LOST)
    connection.ask("/b", 0)
    connection.answers(1)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        tell(READ, port)
        globals()[self.path[1:]](Connection())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
