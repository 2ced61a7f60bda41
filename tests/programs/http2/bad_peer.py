"""Two ends of an HTTP/2 connection of which one does not stop. Both write to FILE, as JSON:
    sent, received  SHA-256 of what left and of what came, without our field; of a server's WHAT alone; in `faulted` without
                    that request and all that came before it was answered; in `ask` without the server's SETTINGS
    fields          how often our field came
    size            bytes that came
    grown           by how much memory grew while it went on, in KiB
    lost            how the connection ended, if it was not by an end of the other side

bad_peer.py serve PORT FILE [WHAT MANY [STREAM]]    answers a preface with SETTINGS, /faulted with 200, and STREAM (1) with WHAT
bad_peer.py send PORT FILE WHAT MANY        sends WHAT, MANY times, then reads to the end
bad_peer.py ask PORT FILE                   sends one request and reads to the end
bad_peer.py faulted PORT FILE DAEMON WHAT MANY    a request to /faulted first; when that one was answered, WHAT (`ask`: one
                                            request, and reads to the end). `grown` is that of the process of the
                                            file DAEMON
"""
import hashlib
import json
import re
import select
import socket
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 9
END_STREAM, END_HEADERS = 1, 4
# HPACK: :status 200; then :method GET, :scheme http, :path /...
STATUS_200 = b"\x88"


def get(path):
    return b"\x82\x86\x04" + bytes([len(path)]) + path


# One such request with our field at its end, of 74 bytes.
OURS = re.compile(rb"\0\0(.)(\x01.{5}" + re.escape(get(b"/bad")) + rb")\0\x0cx-filibuster\x4a1-[-0-9a-f]{72}", re.DOTALL)


def without_ours(found):
    return b"\0\0" + bytes([found[1][0] - 15 - 74]) + found[2]


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload) << 8 | kind) + struct.pack(">BI", flags, stream) + payload


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def pieces(what, many, first):
    """What is sent, without an end; `first` is the first stream that may be used, or that is answered."""
    head = STATUS_200 if first % 2 and what.startswith("answer-") else get(b"/bad")
    what = what.removeprefix("answer-")
    if what == "continuation":
        yield frame(HEADERS, 0, first, head)
    elif what == "data":
        yield frame(HEADERS, END_HEADERS, first, head)
    elif what == "bomb":  # 4,000 bytes into the table, and 100 times from there
        yield frame(HEADERS, END_HEADERS, first, head + b"\x40\x04bomb\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 100)
    for n in range(many):
        if what == "settings":
            yield frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100 + n % 2))
        elif what in ("ping", "bomb"):
            yield frame(PING, 0, 0, struct.pack(">Q", n))
        elif what == "continuation":
            yield frame(CONTINUATION, 0, first, literal(b"name%d" % (n % 1000), b"v" * 90))
        elif what == "streams":
            yield frame(HEADERS, END_HEADERS, first + 2 * n, get(b"/bad"))
        elif what == "resets":
            yield frame(HEADERS, END_HEADERS, first + 2 * n, get(b"/bad")) + frame(RST_STREAM, 0, first + 2 * n, bytes(4))
        elif what == "data":
            yield frame(DATA, 0, first, b"d" * 16384)
        elif what == "push":
            yield frame(PUSH_PROMISE, END_HEADERS, first, struct.pack(">I", 2 + 2 * n) + get(b"/pushed"))
        elif what == "informational":
            yield frame(HEADERS, END_HEADERS, first, b"\x08\x03103" + literal(b"link", b"l" * 50))
        elif what == "invalid":
            yield frame(DATA, 0, 0, b"on no stream")
        else:
            raise ValueError(what)


def memory(pid="self"):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


class End:
    """One end: sends and reads what there is, as an event loop does, and keeps hashes of it only."""

    def __init__(self, connection):
        connection.setblocking(False)
        self.connection, self.ended, self.lost = connection, False, ""
        self.sent, self.received, self.fields, self.size = hashlib.sha256(), hashlib.sha256(), 0, 0
        self.tail, self.first, self.last = b"", b"", b""

    def take(self, data):
        self.size += len(data)
        self.first = (self.first + data)[:len(PREFACE)]
        self.last = (self.last + data)[-4096:]
        # Our field may come in two pieces: its length is held back.
        data = self.tail + data
        data, found = OURS.subn(without_ours, data)
        self.fields += found
        keep = 0 if self.ended else 120
        self.tail = data[len(data) - keep:] if keep else b""
        self.received.update(data[:len(data) - keep] if keep else data)

    def turn(self, data=b""):
        """Sends some of `data`; the rest of it."""
        readable, writable, _ = select.select([self.connection], [self.connection] if data else [], [], 30)
        assert readable or writable, "nothing moves"
        try:
            if readable:
                piece = self.connection.recv(65536)
                self.ended = not piece
                self.take(piece)
            if data and writable:
                count = self.connection.send(data)
                self.sent.update(data[:count])
                return data[count:]
        except OSError as error:
            self.ended, self.lost = True, str(error)
            self.take(b"")
        return data

    def send(self, data):
        while data and not self.ended:
            data = self.turn(data)

    def send_all(self, what, many, first, pid="self"):
        """By how much memory grew after the first eighth."""
        batch, before = b"", None
        for n, piece in enumerate(pieces(what, many, first)):
            batch += piece
            if len(batch) > 60_000:
                self.send(batch)
                batch = b""
            if before is None and n >= many // 8:
                before = memory(pid)
        self.send(batch)
        return memory(pid) - before

    def begin_anew(self):
        """All that came so far is not to be told."""
        self.received, self.tail = hashlib.sha256(), b""

    def ask(self, stream, pid="self"):
        """One request, and what comes until the end. By how much memory grew."""
        before = memory(pid)
        self.read_until(lambda: self.size >= 9)  # the server's SETTINGS
        self.begin_anew()
        self.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, get(b"/bad")))
        self.read_until(lambda: False)
        return memory(pid) - before

    def read_until(self, done):
        while not self.ended and not done():
            self.turn()

    def shut(self):
        try:
            self.connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.lost = str(error)

    def tell(self, name, grown):
        with open(name, "w") as out:
            json.dump({"sent": self.sent.hexdigest(), "received": self.received.hexdigest(),
                       "fields": self.fields, "size": self.size, "grown": grown, "lost": self.lost}, out)


def serve(port, name, what=None, many=0, stream=1):
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            end = End(connection)
            end.read_until(lambda: end.first == PREFACE)
            if end.ended:
                continue  # whoever asks whether we are there
            end.send(frame(SETTINGS))
            before = memory()
            end.read_until(lambda: b"/bad" in end.last or b"/faulted" in end.last)
            if b"/faulted" in end.last:
                end.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200))
            if what:
                end.read_until(lambda: b"/bad" in end.last)
                end.sent = hashlib.sha256()
                end.tell(name, end.send_all(what, int(many), int(stream)))
                end.shut()
            end.read_until(lambda: False)
            if not what:
                end.tell(name, memory() - before)
            connection.close()


def main():
    mode, port, name, *rest = sys.argv[1:]
    if mode == "serve":
        return serve(int(port), name, *rest)
    end, grown = End(socket.create_connection(("127.0.0.1", int(port)))), 0
    end.send(PREFACE + frame(SETTINGS))
    if mode == "send":
        grown = end.send_all(rest[0], int(rest[1]), 1)
    elif mode == "ask":
        grown = end.ask(1)
    elif mode == "faulted":
        end.read_until(lambda: len(end.last) >= 9)
        before = end.sent.copy()
        end.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, get(b"/faulted")))
        end.sent = before  # it does not reach the server
        end.read_until(lambda: struct.pack(">BI", END_HEADERS | END_STREAM, 1) in end.last)
        with open(rest[0]) as file:
            daemon = json.load(file)["pid"]
        end.begin_anew()
        grown = end.ask(3, daemon) if rest[1] == "ask" else end.send_all(rest[1], int(rest[2]), 3, daemon)
    if not end.ended:
        end.shut()
        end.read_until(lambda: False)
    end.tell(name, grown)


if __name__ == "__main__":
    main()
