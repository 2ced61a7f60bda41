"""Services whose calls differ from run to run.

vary.py PORT --back URL --make KIND... makes the calls of each KIND (see CALLS) to URL, answers 503 if any fails
vary.py PORT --answer KIND             answers every request: fixed, json (a field varies), text (all of it varies)
"""
import argparse
import http.client
import http.server
import json
import os
import random
import threading
import time
import urllib.parse
import uuid

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--make", action="append", default=[], dest="kinds")
parser.add_argument("--back")
parser.add_argument("--answer", default="fixed")
parser.add_argument("--counter", help="a file that counts the requests, for KIND sometimes")
options = parser.parse_args()


def call(method, path, body=None, chunked=False, sent=lambda: None):
    """Did the call succeed? `sent` is called when its request is on its way, or has failed, and before its answer is read."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(options.back).netloc, timeout=5)
    try:
        if chunked:
            connection.request(method, path, iter([body[:10], body[10:]]), encode_chunked=True)
        else:
            connection.request(method, path, body)
        sent()
        response = connection.getresponse()
        response.read()
        return response.status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def together(*calls):
    """All at once, in any order; each is on its way before the first one ends."""
    results = []
    begin, all_sent = threading.Barrier(len(calls)), threading.Barrier(len(calls))

    def one(work):
        begin.wait()
        waited = []  # a request that failed is waited for, too

        def sent():
            if not waited:
                waited.append(True)
                all_sent.wait()
        results.append(call(*work, sent=sent))
        sent()
    calls = list(calls)
    random.shuffle(calls)
    threads = [threading.Thread(target=one, args=(work,)) for work in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(results)


def event():
    return json.dumps({"kind": "sale", "id": str(uuid.uuid4()),
                       "items": [{"n": n, "created": time.time()} for n in range(2)]}).encode()


def number():
    """Of this request, from 0."""
    with open(options.counter, "a+") as file:
        file.seek(0)
        count = len(file.read())
        file.write("x")
    return count


def sometimes():
    return call("GET", "/refresh") if number() % 2 == 0 else True


CALLS = {
    "path": lambda: call("POST", f"/orders/{uuid.uuid4()}/items", b"{}"),
    "query": lambda: call("GET", f"/list?page=1&ts={time.time()}"),
    "json": lambda: call("POST", "/events", event()),
    "chunked": lambda: call("POST", "/stream", event(), True),
    "form": lambda: call("POST", "/login", f"user=ann&token={uuid.uuid4()}".encode()),
    "loop": lambda: all([call("GET", f"/item/{uuid.uuid4()}/x") for _ in range(3)]),
    "threads": lambda: together(*[("GET", f"/part/{n}") for n in range(6)]),
    "spread": lambda: together(*[("POST", "/part", b'{"n": %d}' % n) for n in range(6)]),
    "alike": lambda: together(*[("GET", f"/item/{uuid.uuid4()}/x") for _ in range(2)]),
    "whole": lambda: call("GET", f"/{uuid.uuid4()}"),
    "text": lambda: call("POST", "/note", f"note {uuid.uuid4()}".encode()),
    "sometimes": sometimes,
    "cached": lambda: call("GET", "/product") if number() == 0 else True,
    "queued": lambda: call("GET", "/queue") if number() > 0 else True,
    "mixed": lambda: all([call("GET", f"/user/{who}/x") for who in ("ann", "bob", uuid.uuid4())]),
    "plain": lambda: call("GET", "/plain"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while self.rfile.read(int(self.rfile.readline(), 16)):
                self.rfile.readline()
            self.rfile.readline()
        else:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = 200 if all([CALLS[kind]() for kind in options.kinds]) else 503
        body = {"fixed": b'{"ok": true}',
                "json": json.dumps({"ok": True, "id": str(uuid.uuid4())}).encode(),
                "text": f"made at {time.time()}".encode()}[options.answer]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer.request_queue_size = 64
http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
