"""The web service: POST / stores bytes and answers their index, GET /INDEX answers the bytes, POST /reset empties everything.

It does no work while a client waits for it. It puts a ticket into the queue, and its worker, which takes tickets out, stores the
bytes in SQLite and hands the index to the request that waits (tickets.py says how that stays right when the queue fails).

BUG=full: nobody looks at the status of enqueue. BUG=dead-worker: an error of dequeue is not caught. BUG=impatient: a request
waits 0.1 s for the worker.
"""
import contextlib
import http.client
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

from tickets import Tickets

QUEUE = urllib.parse.urlsplit(os.environ["QUEUE_URL"])
BUG = os.environ.get("BUG", "")
POLL = float(os.environ.get("POLL_MS", "2")) / 1000
WORKER_TIMEOUT = float(os.environ.get("WORKER_TIMEOUT", "0.1" if BUG == "impatient" else "30"))  # seconds
QUEUE_TIMEOUT = 5  # seconds
ENQUEUE_TRIES = 5


class QueueFailed(Exception):
    """The queue gave no answer, or one that says nothing of what it did."""


class QueueClient:
    """A kept connection to the queue, for one thread. A connection that failed is closed, and the next request makes another one."""

    def __init__(self):
        self.connection = http.client.HTTPConnection(QUEUE.hostname, QUEUE.port, timeout=QUEUE_TIMEOUT)

    def post(self, path, value):
        """(status, value)"""
        try:
            self.connection.request("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"})
            response = self.connection.getresponse()
            body = response.read()
            return response.status, json.loads(body) if body else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection.close()
            raise QueueFailed(f"{path}: {error!r}") from error


tickets = Tickets()
idle = []  # connections to the queue that no request uses


@contextlib.contextmanager
def queue_client():
    client = idle.pop() if idle else QueueClient()
    yield client
    idle.append(client)


def enqueue(ticket):
    """Whether the queue has the ticket. If no answer says so, the ticket is put in again: the worker passes over a ticket that it has
    served."""
    for _ in range(ENQUEUE_TRIES):
        try:
            with queue_client() as client:
                status, _ = client.post("/enqueue", {"ticket": ticket.number, "work": ticket.work.hex()})
        except QueueFailed:
            status = None
        if status == 201 or ticket.done.is_set() or (BUG == "full" and status is not None):
            return True
        if status == 507:
            return False
        time.sleep(POLL)
    return False


def write(work):
    """(status, text)"""
    ticket = tickets.take(work)
    # A ticket that is cancelled will not be served, so 503 says for certain that nothing was stored.
    if not enqueue(ticket) and tickets.cancel(ticket):
        return 503, "the queue takes no tickets"
    if not ticket.done.wait(WORKER_TIMEOUT):
        return 500, "the worker did not answer in time"
    return (503, "everything was reset") if ticket.index is None else (200, str(ticket.index))


def dequeue(client, received):
    """(number, ticket, work), or None if the queue is empty."""
    status, handed = client.post("/dequeue", {"received": received})
    if status == 204:
        return None
    try:
        if status == 200:
            return handed["number"], handed["item"]["ticket"], bytes.fromhex(handed["item"]["work"])
    except (KeyError, TypeError, ValueError):
        pass  # what came is not the queue's answer
    raise QueueFailed(f"/dequeue: {status}")


def work_off():
    """The worker. Until it says that it has received an item, the queue hands it out again, so whatever fails is only tried again."""
    client, received = QueueClient(), 0
    while True:
        try:
            handed = dequeue(client, received)
        except QueueFailed:
            if BUG == "dead-worker":
                raise
            handed = None
        if handed is None:
            time.sleep(POLL)
            continue
        received, ticket, work = handed
        tickets.serve(ticket, work)


def reset():
    """(status, text)"""
    tickets.reset()
    for _ in range(ENQUEUE_TRIES):
        with contextlib.suppress(QueueFailed), queue_client() as client:
            if client.post("/reset", {})[0] == 204:
                return 204, ""
        time.sleep(POLL)
    return 500, "the queue was not reset"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, b"")
        asked = re.fullmatch("/([0-9]{1,18})", self.path)  # more digits are no index: the store does not have so many rows
        found = tickets.read(int(asked[1])) if asked else None
        self.answer(404, b"") if found is None else self.answer(200, found)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, text = write(body) if self.path == "/" else reset() if self.path == "/reset" else (404, "")
        self.answer(status, text.encode())

    def answer(self, status, body):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


if __name__ == "__main__":
    threading.Thread(target=work_off, daemon=True).start()
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
