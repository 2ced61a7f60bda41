"""objects.py front PORT, objects.py back PORT: small objects by HTTP. The front hands each request to the back, once more where it gets no
answer, with the same number, so that nothing is done twice.

BUG=twice: the back does not look at the number. BUG=lost: the front takes a write for done, whatever becomes of it. BUG=unsure: it
does not ask again.
"""
import http.client
import http.server
import itertools
import json
import os
import sys
import threading

BUG = os.environ.get("BUG", "")
ATTEMPTS = 30


class Objects:
    def __init__(self):
        self.done = {}
        self.reset()

    def reset(self):
        self.kv, self.register, self.queue, self.set, self.log, self.count = {}, 0, [], [], [], 0
        self.balances = {"a": 10, "b": 0}

    def do(self, number, method, path, body):
        """(status, JSON)"""
        if BUG != "twice" and number in self.done:
            return self.done[number]
        kind, _, rest = path.strip("/").partition("/")
        self.done[number] = getattr(self, f"do_{kind}")(method, rest, body)
        return self.done[number]

    def do_reset(self, method, rest, body):
        self.reset()
        return 204, None

    def do_kv(self, method, key, body):
        if method == "GET":
            return (200, {"value": self.kv[key]}) if key in self.kv else (404, None)
        if method == "DELETE":
            return 204, self.kv.pop(key, None) and None
        self.kv[key] = body["value"]
        return 200, None

    def do_register(self, method, rest, body):
        if method == "GET":
            return 200, self.register
        if rest == "cas" and self.register != body["old"]:
            return 409, None
        self.register = body["new"] if rest == "cas" else body
        return 200, None

    def do_queue(self, method, rest, body):
        if method == "POST":
            self.queue.append(body)
            return 201, None
        return (200, {"items": [self.queue.pop(0)]}) if self.queue else (204, None)

    def do_set(self, method, rest, body):
        if method == "GET" and rest:
            return 200, json.loads(rest) in self.set
        if method == "GET":
            return 200, self.set[::-1]  # in any order
        if method == "PUT" and json.loads(rest) not in self.set:
            self.set.append(json.loads(rest))
        if method == "DELETE" and json.loads(rest) in self.set:
            self.set.remove(json.loads(rest))
        return 200, None

    def do_log(self, method, rest, body):
        if method == "GET":
            return 200, self.log
        self.log.append(body)
        return 200, None

    def do_count(self, method, rest, body):
        if method == "POST":
            self.count += int(rest)
        return 200, self.count

    def do_bank(self, method, rest, body):
        if method == "GET":
            return 200, self.balances
        if self.balances[body["from"]] < body["amount"]:
            return 422, {"error": "the balance does not suffice"}
        self.balances[body["from"]] -= body["amount"]
        self.balances[body["to"]] += body["amount"]
        return 200, None


def ask_back(request):
    """(status, JSON)"""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["BACK_PORT"]), timeout=10)
    try:
        connection.request("POST", "/do", json.dumps(request))
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise http.client.HTTPException(f"the back answered {response.status}")
        return json.loads(body)
    finally:
        connection.close()


class Front:
    numbers = itertools.count()

    def do(self, method, path, body):
        request = [next(self.numbers), method, path, body]
        for _ in range(1 if BUG in ("unsure", "lost") else ATTEMPTS):
            try:
                return ask_back(request)
            except (OSError, http.client.HTTPException):
                continue
        if BUG == "lost" and method != "GET":
            return 200, None
        return 500, {"error": "the back does not answer"}


class Handler(http.server.BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        value = json.loads(body) if body else None
        if self.path == "/health":
            answer = 204, None
        elif sys.argv[1] == "front":
            answer = self.server.front.do(self.command, self.path, value)
        else:
            with self.server.lock:
                answer = 200, self.server.objects.do(*value)
        status, value = answer
        text = b"" if status == 204 else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = do_DELETE = handle_one

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
server.objects, server.front, server.lock = Objects(), Front(), threading.Lock()
server.serve_forever()
