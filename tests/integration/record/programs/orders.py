"""orders.py PORT: a service that asks a Redis and an HTTP neighbour. BUG names what a change has broken, FEATURE what it does besides.

GET /orders/ITEM: the price from the cache, or from the neighbour, which is then cached; and the tax.
GET /both/ITEM: two calls at the same time.
"""
import http.client
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis

BUG, FEATURE = os.environ.get("BUG", ""), os.environ.get("FEATURE", "")
memory = {}
came = threading.Condition()
requests = [0]
CACHE = redis.Redis(port=int(os.environ["CACHE_PORT"]))


def get(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PRICING_PORT"]), timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.load(answer) if answer.status == 200 else answer.read() and None
    finally:
        connection.close()


def cents(answer):
    return answer["cents"] if answer else 0


def tax():
    if BUG == "missing":
        return 0
    query = "?of=all" if BUG == "input" else "?api_key=" + os.environ["API_KEY"] if FEATURE == "key" else ""
    if FEATURE != "memory" or "tax" not in memory:
        memory["tax"] = cents(get("/tax" + query))
    return memory["tax"]


def together(*paths):
    connections = [http.client.HTTPConnection("127.0.0.1", int(os.environ["PRICING_PORT"]), timeout=20) for _ in paths]
    for connection in connections:
        connection.connect()
    for connection, path in zip(connections, paths):
        connection.request("GET", path)
    return [cents(json.load(connection.getresponse())) for connection in connections]


def order(item):
    first = tax() if BUG == "order" else None
    price = CACHE.get("price:" + item)
    if BUG == "together":
        added, fetched = together("/tax", "/prices/" + item)
    else:
        added = tax() if first is None else first
    if price is None:
        price = fetched if BUG == "together" else cents(get("/prices/" + item))
        if BUG != "dropped":
            CACHE.set("price:" + item, price)
    if BUG == "extra":
        get("/audit")
    if BUG == "behind":
        with came:
            requests[0] += 1
            came.notify_all()
            if requests[0] == 1:
                threading.Thread(target=audit_behind).start()
            else:
                came.wait_for(lambda: "audited" in memory)
    if FEATURE == "late":
        threading.Timer(0.05, CACHE.set, ("late", item)).start()
    if BUG == "elsewhere":
        http.client.HTTPConnection("127.0.0.1", int(os.environ["ELSEWHERE_PORT"]), timeout=20).request("POST", "/mail")
    if BUG == "dies":
        os._exit(3)
    return {"id": int(item), "total": int(price) + added, **({"by": "me"} if BUG == "answer" else {})}


def audit_behind():
    """A thread of the first request calls while the second one is open, which waits for that."""
    number = requests[0]
    with came:
        came.wait_for(lambda: requests[0] > number)
    get("/audit")
    with came:
        memory["audited"] = True
        came.notify_all()


def both(item):
    found = {}

    def ask(name):
        found[name] = cents(get("/prices/" + item))
    threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"total": sum(found.values())}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def version_string(self):
        return "orders"

    def do_GET(self):
        _, kind, item = self.path.split("/")
        body = json.dumps({"orders": order, "both": both}[kind](item)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if BUG == "start":
    get("/audit")
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
