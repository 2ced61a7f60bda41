"""carts.py shop PORT, carts.py store PORT: a cart that holds one number, GET /cart and PUT /cart of the shop. POST /reset gives the shop another
cart, which the store has under a name of its own (/carts/c7).

BUG=lost: the shop takes a write for done, whatever becomes of it. BUG=left-over: a read that failed spoils the carts behind the next reset, until
the shop is started anew; where one was seen to be spoilt (the file `spoilt`), a write that fails is answered 500. BUG=tired: the third read in a row that
fails is answered with a text.
"""
import http.client
import http.server
import itertools
import json
import os
import pathlib
import sys

BUG = os.environ.get("BUG", "")
ATTEMPTS = int(os.environ.get("ATTEMPTS", "1"))
SPOILT = pathlib.Path("spoilt")


class Store:
    def __init__(self):
        self.carts = {}

    def do(self, method, path, value):
        """(status, JSON)"""
        if method == "PUT":
            self.carts[path] = value
        return 200, self.carts.get(path, 0)


class Shop:
    numbers = itertools.count(1)

    def __init__(self):
        self.spoils = False
        self.reset()

    def reset(self):
        self.cart, self.failed_reads = f"/carts/c{next(self.numbers)}", 0
        self.is_spoilt = self.spoils

    def ask_store(self, method, value):
        """(status, JSON)"""
        for _ in range(ATTEMPTS):
            connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["STORE_PORT"]), timeout=10)
            connection.request(method, self.cart, json.dumps(value))
            response = connection.getresponse()
            body = response.read()
            connection.close()
            if response.status == 200:
                return 200, json.loads(body)
        return 503, None

    def do(self, method, path, value):
        """(status, JSON)"""
        if path == "/reset":
            self.reset()
            return 204, None
        return self.read() if method == "GET" else self.write(value)

    def read(self):
        if self.is_spoilt:
            SPOILT.touch()
            return 200, "spoilt"
        status, value = self.ask_store("GET", None)
        self.failed_reads = 0 if status == 200 else self.failed_reads + 1
        self.spoils |= BUG == "left-over" and status != 200
        if BUG == "tired" and self.failed_reads == 3:
            return 200, "tired"
        return status, value

    def write(self, value):
        status, _ = self.ask_store("PUT", value)
        if BUG == "lost":
            return 200, None
        return (500 if status != 200 and BUG == "left-over" and SPOILT.exists() else status), None


class Handler(http.server.BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, value = (204, None) if self.path == "/health" else self.server.does(self.command, self.path, json.loads(body) if body else None)
        text = b"" if status == 204 else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = handle_one

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
server.does = (Shop() if sys.argv[1] == "shop" else Store()).do
server.serve_forever()
