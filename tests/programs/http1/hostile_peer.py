"""Two ends of HTTP/1 connections that keep no rule of it. Both go through the same cases, one connection each:

hostile_peer.py serve PORT FILE SEED MANY    reads to the end, then sends the case's answer (some before it reads)
hostile_peer.py send PORT FILE SEED MANY     sends the case's requests, ends its half, reads to the end

MANY cases are those written down here, changed at random. FILE: what came, a line of JSON for each case, without our field.
"""
import json
import random
import re
import signal
import socket
import sys

OURS = re.compile(rb"x-filibuster: 1-[-0-9a-f]{72}\r\n")
GET = b"GET /good HTTP/1.1\r\nHost: a\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def post(*fields, body=b""):
    return b"POST /bad HTTP/1.1\r\nHost: a\r\n" + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + body


def answer(*fields, body=b"", status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\r\n" + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked"
# Framings of either direction, after a head.
FRAMINGS = [
    ([b"Content-Length: 5"], b"123"),
    ([b"Content-Length: 2"], b"12345"),
    ([b"Content-Length: -1"], b"12"),
    ([b"Content-Length: +2"], b"12"),
    ([b"Content-Length: 0x2"], b"12"),
    ([b"Content-Length: 2, 2"], b"12"),
    ([b"Content-Length: 2", b"Content-Length: 2"], b"12"),
    ([b"Content-Length: 2", b"Content-Length: 3"], b"123"),
    ([b"Content-Length: " + b"9" * 30], b"12"),
    ([b"Content-Length: 18446744073709551615"], b"12"),
    ([b"Content-Length: 2", CHUNKED], b"2\r\n12\r\n0\r\n\r\n"),
    ([CHUNKED, b"Content-Length: 2"], b"2\r\n12\r\n0\r\n\r\n"),
    ([b"Transfer-Encoding: chunked, identity"], b"2\r\n12\r\n0\r\n\r\n"),
    ([b"Transfer-Encoding: xchunked"], b"2\r\n12\r\n0\r\n\r\n"),
    ([b"Transfer-Encoding : chunked"], b"2\r\n12\r\n0\r\n\r\n"),
    ([b"Transfer-Encoding:\tchunked\t"], b"2\r\n12\r\n0\r\n\r\n"),
    ([CHUNKED, CHUNKED], b"2\r\n12\r\n0\r\n\r\n"),
    ([CHUNKED], b"FFFFFFFFFFFFFFFFF\r\n12"),
    ([CHUNKED], b"7fffffffffffffff\r\n12"),
    ([CHUNKED], b"-2\r\n12\r\n0\r\n\r\n"),
    ([CHUNKED], b"2 \r\n12\r\n0\r\n\r\n"),
    ([CHUNKED], b"2\n12\n0\n\n"),
    ([CHUNKED], b"2\r\n123\r\n0\r\n\r\n"),
    ([CHUNKED], b"2;" + b"e" * 20_000 + b"\r\n12\r\n0\r\n\r\n"),
    ([CHUNKED], b"1\r\nx\r\n" * 2_000 + b"0\r\n\r\n"),
    ([CHUNKED], b"0\r\n" + b"t: v\r\n" * 2_000 + b"\r\n"),
    ([CHUNKED], b"0\r\nx-filibuster: of a trailer\r\n\r\n"),
    ([CHUNKED], b"2\r\n12\r\n"),
    ([CHUNKED], b"\r\n\r\n"),
]
HEADS = [
    b"", b"\r\n", b"\r\n\r\n\r\n", b"\n\n\n", b" ", b"\0", b"\0" * 5_000, b"\xff" * 5_000, b"GET", b"GET /", b"GET / HTTP/1.1", b"GET / HTTP/1.1\r\n",
    b"GET /\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n", b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\n\n", b"GET / HTTP/1.1\r\r",
    b"get / http/1.1\r\n\r\n", b"GET  /  HTTP/1.1\r\n\r\n", b"\tGET / HTTP/1.1\r\n\r\n", b"G\0T / HTTP/1.1\r\n\r\n",
    b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n", b"GET http://a:99999/ HTTP/1.1\r\nHost: b\r\n\r\n",
    b"GET /" + b"p" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"X" * 100_000, b"M" * 1_000 + b" / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET / HTTP/1.1\r\n: nameless\r\n\r\n", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", b"GET / HTTP/1.1\r\n folded: first\r\n\r\n", b"GET / HTTP/1.1\r\nn\0me: v\0lue\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\nv: " + b"v" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"n" * 100_000 + b": v\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"n: v\r\n" * 5_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nx-filibuster: forged\r\n\r\n", b"GET / HTTP/1.1\r\nx-filibuster:\r\nX-Filibuster: 1-" + b"0" * 60 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nConnection: x-filibuster\r\n\r\n", b"GET / HTTP/1.1\r\nx-filibuster: " + b"f" * 50_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n\r\nnot HTTP any more", b"OPTIONS * HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n",
    b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + GET, b"GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: ??\r\n\r\n",
    b"GET / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    GET * 500, GET + b"garbage" + GET, (GET + b"\r\n") * 20, post(b"Content-Length: 3", body=b"123") * 100,
]
ANSWERS = [
    b"", b"\0", b"\r\n\r\n", b"\xff" * 5_000, b"HTTP", b"HTTP/1.1", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"HTTP/1.1 -20 OK\r\n\r\n", b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/2 200\r\n\r\n", b"HTTP/0.9 200 OK\r\n\r\nbody", b"ICY 200 OK\r\n\r\nmusic", b"http/1.1 200 ok\r\n\r\n", b"HTTP/1.1 200 OK\n\nbody", GET,
    answer(body=b"until the end"), answer(status=b"204 No Content", body=b"a body"), answer(status=b"304 Not Modified", body=b"a body"),
    answer(b"Content-Length: 9", status=b"304 Not Modified"), answer(b"Content-Length: 9", status=b"204 No Content"),
    OK * 2, OK * 500, OK + b"more", answer(status=b"100 Continue") * 2_000 + OK, answer(status=b"103 Early Hints") + OK,
    answer(status=b"100 Continue"), answer(b"Content-Length: 2", status=b"100 Continue", body=b"ok") + OK,
    answer(b"Upgrade: h2c", b"Connection: Upgrade", status=b"101 Switching Protocols") + b"PRI", answer(status=b"101 Now What") + OK,
    answer(b"no colon") + b"ok", answer(b": nameless", b"Content-Length: 2") + b"ok", answer(b"a: b", b" folded", b"Content-Length: 2") + b"ok",
    answer(b"v: " + b"v" * 100_000, b"Content-Length: 2") + b"ok", answer(*[b"n: v"] * 5_000, b"Content-Length: 2") + b"ok",
    answer(b"n\0me: v\0lue", b"Content-Length: 2") + b"ok", answer(b"Content-Length: 10000000") + b"d" * 300_000,
]


def cases():
    """(request, answer, does the server speak first)"""
    for request in HEADS:
        yield request, OK, False
    for fields, body in FRAMINGS:
        yield post(*fields, body=body), OK, False
        yield post(*fields, body=body) + GET, OK * 2, False
        yield GET, answer(*fields, body=body), False
        yield GET * 2, answer(*fields, body=body) + OK, False
    for said in ANSWERS:
        yield GET, said, False
        yield GET, said, True
        yield b"HEAD /good HTTP/1.1\r\nHost: a\r\n\r\n", said, False


def changed(text, choose):
    text = bytearray(text[:3_000])
    for _ in range(choose.randrange(1, 6)):
        at = choose.randrange(len(text) + 1)
        what = choose.randrange(4)
        if what == 0:
            del text[at:at + choose.randrange(1, 9)]
        elif what == 1:
            text[at:at] = choose.choice([b"\r", b"\n", b"\r\n", b"\0", b" ", b":", b"\xff", b"0", b"Content-Length: 3\r\n", b"\r\n\r\n"])
        elif what == 2:
            text[at:at + 1] = bytes([choose.randrange(256)])
        else:
            text[at:at] = text[choose.randrange(len(text) + 1):][:choose.randrange(1, 200)]
    return bytes(text)


def all_cases(seed, many):
    """(request, answer, does the server speak first, bytes of a write)"""
    written = list(cases())
    for request, said, first in written:
        for step in (1, 7, 1 << 20):
            if max(len(request), len(said)) < 1_000 * step:
                yield request, said, first, step
    choose = random.Random(seed)
    for _ in range(many):
        request, said, first = choose.choice(written)
        yield changed(request, choose), changed(said, choose), first, choose.choice([1, 5, 1 << 20])


def send(connection, text, step):
    for at in range(0, len(text), step):
        connection.sendall(text[at:at + step])


def rest(connection):
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def main():
    what, port, file, seed, many = sys.argv[1], *[int(sys.argv[2])], sys.argv[3], *map(int, sys.argv[4:6])
    if what == "serve":
        listener = socket.create_server(("127.0.0.1", port), backlog=64)
        while not (first := listener.accept()[0]).recv(1, socket.MSG_PEEK):
            first.close()  # somebody looked whether we are there
    with open(file, "w") as out:
        for number, (request, said, early, step) in enumerate(all_cases(seed, many)):
            if what == "send":
                connection = socket.create_connection(("127.0.0.1", port))
                connection.sendall(b"GET /begin HTTP/1.0\r\n\r\n" if number == 0 else b"")
            else:
                connection = first if number == 0 else listener.accept()[0]
            connection.settimeout(60)
            with connection:
                if what == "send":
                    send(connection, request, step)
                    connection.shutdown(socket.SHUT_WR)
                    came = rest(connection)
                elif early:
                    send(connection, said, step)
                    came = rest(connection)
                else:
                    came = rest(connection)
                    send(connection, said, step)
                out.write(json.dumps([number, OURS.sub(b"", came).decode("latin-1")]) + "\n")
                out.flush()  # before the other end sees that this one is done
    if what == "serve":
        signal.pause()


main()
