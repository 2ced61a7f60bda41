"""tickets.py PORT: sells tickets (README.md). CACHE=host:port is a Redis, CATALOG_URL the catalog, KEY signs tokens, POOL is how many
connections there are to each of the two, BUG names the regression that is in."""
import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import http.server
import json
import os
import queue
import random
import re
import sys
import time
import urllib.parse
import uuid

import redis

HOST, PORT = os.environ["CACHE"].rsplit(":", 1)
CATALOG = urllib.parse.urlsplit(os.environ["CATALOG_URL"])
KEY = os.environ["KEY"].encode()
POOL = int(os.environ.get("POOL", "4"))
BUG = os.environ.get("BUG", "")
CURRENCY = "usd" if BUG == "query" else "eur"
DRAWS = 32
TOKEN_LASTS = 3600  # seconds
WAIT = 30  # seconds for a connection

cache = redis.Redis(connection_pool=redis.BlockingConnectionPool(
    host=HOST, port=int(PORT), max_connections=POOL, timeout=WAIT, decode_responses=True))
idle = queue.LifoQueue()  # connections to the catalog that no request uses
for _ in range(POOL):
    idle.put(http.client.HTTPConnection(CATALOG.hostname, CATALOG.port, timeout=WAIT))
events = {}  # what the catalog has said of an event


class Failed(Exception):
    """(status, value) of the answer."""


def ask(path):
    connection = idle.get(timeout=WAIT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise Failed(502, {"error": "the catalog does not answer"}) from error
    finally:
        idle.put(connection)
    if answer.status != 200:
        raise Failed(answer.status, {"error": "the catalog has no such thing"})
    return json.loads(body)


def price(event):
    found = cache.get(f"event:{event}")
    if found is not None:
        return int(found)
    cents = ask(f"/events/{event}?currency={CURRENCY}")["cents"]
    cache.set(f"event:{event}", cents)
    return cents


def sell(order):
    event, seats = order["event"], order["seats"]
    if BUG == "exchanged":
        cache.incr(f"sold:{event}")
    total = price(event) * seats
    if BUG == "extra":
        cache.get(f"discount:{event}")
    if BUG != "exchanged":
        cache.incr(f"sold:{event}")
    code = str(uuid.uuid4())
    if BUG != "dropped":
        cache.set(f"ticket:{code}", f"{event}:{seats}:{total}")
    issued = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return 201, {"code": code, "event": event, "places" if BUG == "field" else "seats": seats, "total": total, "issued": issued}


def event_of(number):
    if number not in events:
        events[number] = ask(f"/events/{number}?currency={CURRENCY}")
    return 200, events[number]


def sales(event):
    return 200, {"event": int(event), "sold": int(cache.get(f"sold:{event}") or 0)}


def opening():
    now = datetime.datetime.now(datetime.timezone.utc)
    is_open = 8 <= now.hour < 20 and now.weekday() < 6
    return 200, {"open": is_open, "day": now.strftime("%A"), "desk": cache.get("desk:day" if is_open else "desk:night")}


def lucky():
    """As many calls as draws were lucky."""
    return 200, {"calls": [cache.incr("lucky") for _ in range(DRAWS) if random.random() < 0.5]}


def encoded(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def signed(text):
    return encoded(hmac.new(KEY, text, hashlib.sha256).digest())


def login(who):
    head = encoded(b'{"alg":"HS256","typ":"JWT"}')
    body = encoded(json.dumps({"sub": who["name"], "exp": int(time.time()) + TOKEN_LASTS}).encode())
    return 200, {"token": b".".join([head, body, signed(head + b"." + body)]).decode()}


def me(authorization):
    head, _, signature = authorization.removeprefix("Bearer ").encode().rpartition(b".")
    if not hmac.compare_digest(signature, signed(head)):
        return 401, {"error": "the signature is wrong"}
    body = head.partition(b".")[2]
    claims = json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)))
    if claims["exp"] <= time.time():
        return 401, {"error": "the token has expired"}
    return 200, {"name": claims["sub"], "tickets": int(cache.get(f"tickets-of:{claims['sub']}") or 0)}


GET = [(r"/events/(\d+)", event_of), (r"/sales/(\d+)", sales), (r"/quotes/(\d+)", lambda event: (200, ask(f"/quotes/{event}"))),
       (r"/open", opening), (r"/lucky", lucky), (r"/health", lambda: (200, {}))]
POST = {"/tickets": sell, "/login": login}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/me":
            return self.answer(lambda: me(self.headers.get("Authorization", "")))
        for pattern, handle in GET:
            found = re.fullmatch(pattern, self.path)
            if found:
                return self.answer(lambda: handle(*found.groups()))
        self.answer(lambda: (404, {}))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        handle = POST.get(self.path)
        self.answer(lambda: handle(json.loads(body)) if handle else (404, {}))

    def answer(self, handle):
        try:
            status, value = handle()
        except Failed as failed:
            status, value = failed.args
        except (ValueError, KeyError, TypeError):
            status, value = 400, {"error": "the request is not understood"}
        except redis.RedisError:
            status, value = 502, {"error": "the cache does not answer"}
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
