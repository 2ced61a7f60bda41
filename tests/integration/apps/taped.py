"""A client and servers whose bytes are known, for preload/test_tape.py.

    taped.py serve KIND PORT [FOLDER]     plain, threads, fork, sendfile, tls
    taped.py call KIND PORT OUT [FOLDER]  plain, tls, redis; writes what it sent and received

A request is sent in pieces that divide its lines, and an answer is read to its known end.
"""
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from socketserver import ForkingMixIn

FILE = b"0123456789" * 5000
THREADS = 4


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(FILE)))
        self.end_headers()
        self.wfile.flush()
        if self.server.kind == "sendfile":
            with open(self.server.folder / "file", "rb") as file:
                sent = 0
                while sent < len(FILE):
                    sent += os.sendfile(self.connection.fileno(), file.fileno(), sent, len(FILE) - sent)
        else:
            self.wfile.write(FILE)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Set-Cookie", "a=b")
        self.end_headers()
        for part in (body[:3], body[3:]):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class ForkingServer(ForkingMixIn, HTTPServer):
    pass


def serve(kind, port, folder=None):
    server = {"fork": ForkingServer, "threads": ThreadingHTTPServer}.get(kind, HTTPServer)(("127.0.0.1", port), Handler)
    server.kind, server.folder = kind, folder and pathlib.Path(folder)
    if folder and kind == "sendfile":
        (server.folder / "file").write_bytes(FILE)
    if kind == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server.folder / "cert.pem", server.folder / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    # What still answers goes on to its end: the client may have the whole answer before the server's write has returned.
    server.daemon_threads = False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    finally:
        server.server_close()


def connect(port):
    """Once somebody listens."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def http(number):
    """Requests, each with what its answer ends with."""
    body = b"number=%d" % number
    return [(b"GET /file?n=%d HTTP/1.1\r\nHost: movies\r\nX-Number: %d\r\n\r\n" % (number, number), FILE),
            (b"POST /make HTTP/1.1\r\nHost: movies\r\nContent-Length: %d\r\n\r\n" % len(body) + body, b"\r\n0\r\n\r\n")]


def redis(number):
    key = b"$7\r\nprice:%d\r\n" % number
    return [(b"*3\r\n$3\r\nSET\r\n" + key + b"$3\r\n950\r\n", b"+OK\r\n"), (b"*2\r\n$3\r\nGET\r\n" + key, b"$3\r\n950\r\n"),
            (b"*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n", b"*1\r\n:%d\r\n" % (number + 1))]


def exchange(stream, requests):
    sent = received = b""
    for request, end in requests:
        for piece in (request[:10], request[10:25], request[25:]):
            stream.sendall(piece)
        sent += request
        answer = b""
        while not answer.endswith(end):
            more = stream.recv(3000)
            assert more, "the server has closed"
            answer += more
        received += answer
        subprocess.run(["true"], check=True)
    return {"sent": sent.decode("latin-1"), "received": received.decode("latin-1")}


def call(kind, port, out, folder=None):
    found = []

    def one(number):
        with connect(port) as stream:
            if kind == "tls":
                context = ssl.create_default_context(cafile=pathlib.Path(folder) / "ca.pem")
                stream = context.wrap_socket(stream, server_hostname="localhost")
            found.append(exchange(stream, redis(number) if kind == "redis" else http(number)))
            stream.close()

    if kind == "redis":
        one(0)
        one(1)
    else:
        threads = [threading.Thread(target=one, args=(number,)) for number in range(1 if kind == "tls" else THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    pathlib.Path(out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
