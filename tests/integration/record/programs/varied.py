"""varied.py PORT: a service whose answers and calls vary from run to run. It asks a Redis and an HTTP neighbour.

GET /things/N: an identifier, a time, how long it took, a list without an order, a header; tells the neighbour and the cache of the identifier.
GET /served: how many requests came before. GET /dice: a call or none, by chance. GET /all/N: two calls, in an order of chance.
GET /rate/N: what the neighbour says, who is asked once. GET /count: how many requests for it came before.
GET /open: the year.
GET /login: what the neighbour says of a password that the service knows. GET /day: a time to the second.
"""
import hashlib
import http.client
import json
import os
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis

CACHE = redis.Redis(port=int(os.environ["CACHE_PORT"]))
served = 0
memory = {"count": 0}


# Chance of a kind that no replay gives again: that of a clock which nobody changes.
def chance():
    return hashlib.sha256(str(time.monotonic_ns()).encode()).hexdigest()


def new_name():
    return str(uuid.UUID(chance()[:32]))


def shuffled(things):
    return [thing for _, thing in sorted((chance(), thing) for thing in things)]


def ask(path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PRICING_PORT"]), timeout=20)
    try:
        connection.request("POST" if body else "GET", path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        return json.load(connection.getresponse())
    finally:
        connection.close()


def thing(number):
    name, began = new_name(), time.time()
    ask(f"/log/{name}/{number}?at={time.time_ns()}", {"event": {"id": name}, "number": number})
    CACHE.set("session:" + name, number)
    tags = [{"tag": tag} for tag in shuffled("abcdefgh")]
    return {"id": name, "number": number, "at": time.time(), "took_ms": (time.time() - began) * 1000, "tags": tags}


def both(number):
    for path in shuffled([f"/left/{number}", f"/right/{number}"]):
        ask(path)
    return {}


class Varied(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802
        global served
        _, what, *rest = self.path.split("/")
        status = 200
        if what == "things":
            answer = thing(rest[0])
        elif what == "served":
            answer = {"before": served}
        elif what == "dice":
            answer = ask("/dice") if chance() < "8" else {}
        elif what == "all":
            answer = both(rest[0])
        elif what == "day":
            answer = {"now": int(time.time())}
        elif what == "open":
            answer = {"year": time.gmtime().tm_year}
        elif what == "rate":
            memory["rate"] = memory.get("rate") or ask("/rate")
            answer = {"of": rest[0], **memory["rate"]}
        elif what == "count":
            answer = {"count": memory["count"]}
            memory["count"] += 1
        elif what == "login":
            right = ask("/password")["password"] == os.environ.get("PASSWORD")
            status, answer = (200, {"welcome": True}) if right else (401, {"welcome": False})
        else:
            answer = {}
        if what != "":
            served += 1
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Request-Id", new_name())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


print("replayed" if "FILIBUSTER_REPLAY" in os.environ else "recorded", flush=True)
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Varied).serve_forever()
