"""catalog.py PORT: GET /events/N?currency=eur is an event with its price, and 404 from event 100 on; GET /quotes/N is another number each
time. DELAY_MS in the environment is how long an answer takes."""
import http.server
import itertools
import json
import os
import re
import sys
import time

DELAY = float(os.environ.get("DELAY_MS", "0")) / 1000
KNOWN = 100
numbers = itertools.count(1)


def find(path):
    """(status, value)"""
    event = re.fullmatch(r"/events/(\d+)\?currency=(\w+)", path)
    if event and int(event[1]) < KNOWN:
        number = int(event[1])
        return 200, {"id": number, "name": f"event {number}", "cents": 1000 + 10 * number, "currency": event[2]}
    quote = re.fullmatch(r"/quotes/(\d+)", path)
    if quote:
        return 200, {"event": int(quote[1]), "quote": next(numbers)}
    return 404, {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {})
        if DELAY:
            time.sleep(DELAY)
        self.answer(*find(self.path))

    def answer(self, status, value):
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


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
