"""A service with a cache in Redis and an HTTP neighbour, for record/test_record.py.

    orders.py PORT REDIS_PORT PRICING_PORT     POST /orders, GET /orders/N, POST /login, GET /file
    orders.py pricing PORT                     its neighbour
"""
import http.client
import json
import os
import queue
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def answer(self, status, value, **fields):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, field in fields.items():
            self.send_header(name.replace("_", "-"), field)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Pricing(Handler):
    def do_GET(self):
        if self.path == "/config":
            return self.answer(200, {"currency": "EUR"})
        number = int(self.path.rsplit("/", 1)[1])
        self.answer(200, {"cents": 100 * number + 50, "name": f"item {number}"})

    def do_POST(self):
        asked = self.body()
        self.answer(200, {"access_token": "at-" + asked["password"][::-1], "user": asked["user"]})


class Pool:
    """Kept connections to the neighbour."""

    def __init__(self, port):
        self.port, self.idle = port, queue.LifoQueue()

    def ask(self, method, path, body=None, **fields):
        try:
            connection = self.idle.get_nowait()
        except queue.Empty:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, {name.replace("_", "-"): field for name, field in fields.items()})
        answer = connection.getresponse()
        value = json.loads(answer.read())
        self.idle.put(connection)
        return value


class Orders(Handler):
    def do_GET(self):
        if self.path == "/file":
            return self.send_file()
        number = self.path.rsplit("/", 1)[1]
        found = cache.get(f"order:{number}")
        self.answer(404 if found is None else 200, {"found": found and json.loads(found)})

    def send_file(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"0123456789" * 2000)
            file.flush()
            self.send_response(200)
            self.send_header("Content-Length", "20000")
            self.end_headers()
            self.wfile.flush()
            sent = 0
            while sent < 20000:
                sent += os.sendfile(self.connection.fileno(), file.fileno(), sent, 20000 - sent)

    def do_POST(self):
        if self.path == "/login":
            return self.log_in()
        item = self.body()["item"]
        price = cache.get(f"price:{item}")
        if price is None:
            price = pricing.ask("GET", f"/prices/{item}")["cents"]
            cache.set(f"price:{item}", price)
        order = {"item": item, "total": int(price)}
        with cache.pipeline() as pipe:
            pipe.set(f"order:{item}", json.dumps(order))
            pipe.sadd("orders", item)
            pipe.execute()
        self.answer(201, order)

    def log_in(self):
        asked = self.body()
        granted = pricing.ask("POST", "/login", json.dumps(asked), Content_Type="application/json", Authorization="Bearer " + asked["api_key"])
        cache.hset("session:" + asked["user"], mapping={"access_token": granted["access_token"]})
        self.answer(200, granted, Set_Cookie=f"sid={granted['access_token']}; Path=/")


if __name__ == "__main__":
    if sys.argv[1] == "pricing":
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Pricing).serve_forever()
    port, redis_port, pricing_port = map(int, sys.argv[1:4])
    cache = redis.Redis(port=redis_port, db=3, password=os.environ.get("CACHE_PASSWORD"))
    pricing = Pool(pricing_port)
    pricing.ask("GET", "/config")
    cache.ping()
    ThreadingHTTPServer(("127.0.0.1", port), Orders).serve_forever()
