"""drawing.py PORT: a service that draws random numbers, and asks an HTTP neighbour.

GET /orders: a number for its log alone, and one that its answer and a call have. GET /toss: a call to the left or to the right, by chance.
GET /login: a token. GET /host: the name of this machine.
GET /pick: a number of the generator that Python seeds when it starts.
"""
import http.client
import json
import os
import random
import secrets
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

INSTANCE = secrets.token_hex(6)


def ask(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PRICING_PORT"]), timeout=20)
    try:
        connection.request("GET", path)
        return json.load(connection.getresponse())
    finally:
        connection.close()


def log_number():
    return os.urandom(16).hex()


def order_number():
    return os.urandom(16).hex()


def orders():
    print("request", log_number(), file=sys.stderr)
    number = order_number()
    ask(f"/log/{number}")
    return {"order": number, "instance": INSTANCE}


def toss():
    ask("/left" if os.urandom(1)[0] < 128 else "/right")
    return {}


def login():
    return {"token": secrets.token_hex(20)}


def host():
    name = socket.gethostname()
    socket.getaddrinfo(name, None)
    return {"host": name, "node": os.uname().nodename}


def pick():
    return {"pick": random.randint(0, 10**9)}


class Drawing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802
        body = json.dumps({"/orders": orders, "/toss": toss, "/login": login, "/host": host, "/pick": pick}[self.path]()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Drawing).serve_forever()
