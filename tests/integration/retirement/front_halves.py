"""`front_halves.py PORT BACK`: one connection of HTTP/2 to BACK (back.mjs), until it is told to open another one.

    GET /half   opens a stream that goes on, and begins a DATA frame of it: its first byte
    GET /       writes the rest of that frame, if there is one, then a request of several frames, each in a write
"""
import http.server
import socket
import sys

DATA, HEADERS, SETTINGS, GOAWAY = 0, 1, 4, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
POST = b"\x83\x86\x84\x01\x04back"  # POST http /, of "back" (RFC 7541)


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Connection:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        self.input = self.socket.makefile("rb")
        self.last, self.rest, self.leaves = -1, b"", False
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))

    def read_until(self, wanted):
        while header := self.input.read(9):
            kind, flags, stream = header[3], header[4], int.from_bytes(header[5:], "big")
            self.input.read(int.from_bytes(header[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self.socket.sendall(frame(SETTINGS, ACK, 0))
            self.leaves = self.leaves or kind == GOAWAY
            if wanted(kind, flags, stream):
                return
        raise ConnectionError("the server closed")

    def open_stream(self):
        self.last += 2
        self.socket.sendall(frame(HEADERS, END_HEADERS, self.last, POST))

    def half(self):
        self.open_stream()
        whole = frame(DATA, 0, self.last, b"message")
        self.socket.sendall(whole[:1])
        self.rest = whole[1:]

    def request(self):
        if self.rest:
            self.socket.sendall(self.rest)
            self.rest = b""
        self.open_stream()
        for _ in range(10):
            self.socket.sendall(frame(DATA, 0, self.last, b"message"))
        self.socket.sendall(frame(DATA, END_STREAM, self.last))
        self.read_until(lambda kind, flags, stream: stream == self.last and flags & END_STREAM
                        and kind in (DATA, HEADERS))


connection = None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global connection
        if connection is None or connection.leaves:
            connection = Connection()
        connection.half() if self.path == "/half" else connection.request()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
