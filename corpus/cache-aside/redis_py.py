"""The shop on redis-py, which connects when it is needed.

BUG=outage: an error of the cache at GET is not caught. BUG=full: of the cache's errors only those of the connection are
caught, which a cache that answers 'out of memory' is none of. TRANSACTION=1: what is written after a miss is one MULTI.
"""
import http.client
import http.server
import os
import re
import sys
import urllib.parse

import redis

CATALOGUE = urllib.parse.urlsplit(os.environ["CATALOGUE_URL"])
HOST, PORT = os.environ["CACHE"].rsplit(":", 1)
CACHE_TIMEOUT, CATALOGUE_TIMEOUT = 0.3, 0.5  # seconds
KEPT = 60  # seconds
BUG = os.environ.get("BUG")
TRANSACTION = os.environ.get("TRANSACTION") == "1"
# What a request may meet of the cache and go on. (A cache that loads its data is a ConnectionError to redis-py.)
CACHE_IS_OUT = (redis.ConnectionError, redis.TimeoutError) if BUG == "full" else redis.RedisError

cache = redis.Redis(HOST, int(PORT), socket_timeout=CACHE_TIMEOUT, socket_connect_timeout=CACHE_TIMEOUT,
                    decode_responses=True)


class Unavailable(Exception):
    """The catalogue gave no product."""


def ask(number):
    connection = http.client.HTTPConnection(CATALOGUE.hostname, CATALOGUE.port, timeout=CATALOGUE_TIMEOUT)
    try:
        connection.request("GET", f"/products/{number}")
        response = connection.getresponse()
        text = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable from error
    finally:
        connection.close()
    if response.status != 200:
        raise Unavailable
    return text


def look_up(key):
    """(what the cache has of it, or None; whether the cache is there)."""
    if BUG == "outage":
        return cache.get(key), True
    try:
        return cache.get(key), True
    except CACHE_IS_OUT:
        return None, False


def fill(key, text, visits):
    if TRANSACTION:
        with cache.pipeline(transaction=True) as together:
            return together.set(key, text, ex=KEPT).incr(visits).execute()[1]
    cache.set(key, text, ex=KEPT)
    return cache.incr(visits)


def product(number):
    """The product as JSON, and how often it was asked for (None: not known). A request to which the cache
    failed once asks it nothing more."""
    key, visits = f"product:{number}", f"visits:{number}"
    found, there = look_up(key)
    text = ask(number) if found is None else found
    if not there:
        return text, None
    try:
        return text, fill(key, text, visits) if found is None else cache.incr(visits)
    except CACHE_IS_OUT:
        return text, None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, "{}")
        asked = re.fullmatch(r"/product/(\d+)", self.path)
        if asked is None:
            return self.answer(404, "{}")
        try:
            text, visits = product(asked[1])
        except Unavailable:
            return self.answer(503, "{}")
        except Exception as error:  # whatever nobody thought of
            print(f"500: {error!r}", file=sys.stderr, flush=True)
            return self.answer(500, "{}")
        self.answer(200, f'{{"product": {text}, "visits": {"null" if visits is None else visits}}}')

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
