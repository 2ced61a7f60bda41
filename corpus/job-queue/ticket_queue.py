"""The queue of tickets: POST /enqueue puts one in (201, or 507 if it is full), POST /dequeue takes one out (200, or 204 if it is
empty), POST /reset empties it (204). It has one consumer.

A consumer that lost an answer must be able to ask again, or the item in the answer would be lost. So each item that is taken out
gets a number, and the consumer says by {"received": NUMBER} which was the last one that it has. Until it says so of the newest one,
that item is handed out again, under the same number. 204 and 200 are both safe to lose, and asking twice does nothing twice.
"""
import collections
import http.server
import json
import sys
import threading

CAPACITY = 128


class Queue:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = collections.deque()
        self.handed = None  # the item that is handed out, until the consumer says that it has it
        self.number = 0  # of the newest item that was handed out; a reset does not begin anew, so no number stands for two items

    def enqueue(self, item):
        with self.lock:
            if len(self.items) >= CAPACITY:
                return False
            self.items.append(item)
            return True

    def dequeue(self, received):
        with self.lock:
            if self.handed is not None and received != self.number:
                return self.handed
            self.handed = None
            if self.items:
                self.number += 1
                self.handed = {"number": self.number, "item": self.items.popleft()}
            return self.handed

    def reset(self):
        with self.lock:
            self.items.clear()
            self.handed = None


queue = Queue()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece: a second piece would wait for the acknowledgement of the first
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            value = json.loads(body) if body else {}
            received = value.get("received", 0) if self.path == "/dequeue" else 0
        except (ValueError, AttributeError):
            return self.answer(400)
        if self.path == "/enqueue":
            return self.answer(201 if queue.enqueue(value) else 507)
        if self.path == "/dequeue":
            handed = queue.dequeue(received)
            return self.answer(204) if handed is None else self.answer(200, handed)
        if self.path == "/reset":
            queue.reset()
            return self.answer(204)
        self.answer(404)

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if status != 204:
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
