"""drawn_numbers.py PORT [tasks]: GET /draw/N answers with a random number of each source that Python has. With LESS or MORE in the environment it draws one
number less or more before, of which the answer has nothing. Behind each request a thread that works for none draws, too."""
import asyncio
import http.server
import json
import os
import random
import secrets
import sys
import threading
import uuid

OWN = random.Random()
wake = threading.Event()


def draw_for_nobody():
    while True:
        wake.wait()
        wake.clear()
        random.getrandbits(47)
        random.random()


SOURCES = {
    "random": random.random, "bits": lambda: random.getrandbits(30), "many": lambda: str(random.getrandbits(100)),
    "dice": lambda: random.randint(1, 10**6), "shuffled": lambda: random.sample(range(1000), 5), "gauss": lambda: OWN.normalvariate(0, 1),
    "own": OWN.random, "below": lambda: secrets.randbelow(10**9), "system": lambda: random.SystemRandom().random(),
    "urandom": lambda: list(os.urandom(4)), "uuid": lambda: uuid.uuid4().int % 10**12, "of_time": lambda: uuid.uuid1().int % 10**12,
    "hash": lambda: hash("text"),
}


def draw_before():
    if "LESS" not in os.environ:
        random.getrandbits(3)
    if "MORE" in os.environ:
        random.getrandbits(200)
    wake.set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        draw_before()
        body = json.dumps({name: draw() for name, draw in SOURCES.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


async def answer(reader, writer):
    """Between any two numbers others draw."""
    await reader.readuntil(b"\r\n\r\n")
    draw_before()
    numbers = {}
    for name, draw in SOURCES.items():
        await asyncio.sleep(0)
        numbers[name] = draw()
    body = json.dumps(numbers).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


async def serve_in_tasks(port):
    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()


threading.Thread(target=draw_for_nobody, daemon=True).start()
if sys.argv[2:] == ["tasks"]:
    asyncio.run(serve_in_tasks(int(sys.argv[1])))
else:
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
