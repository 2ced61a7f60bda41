"""traffic.py [REQUESTS [KIND...]]: sends requests to the tickets at TICKETS_URL, one after the other on each of CLIENTS connections. Which ones is chosen by SEED; a
kind that is named is sent only, in turn. RATE bounds how many are sent a second; LATENCIES names a file for how long each one took, in
microseconds. Ends with 1 if an answer has a status that nobody expects."""
import http.client
import json
import os
import pathlib
import random
import sys
import threading
import time
import urllib.parse

TICKETS = urllib.parse.urlsplit(os.environ["TICKETS_URL"])
CLIENTS, SEED = int(os.environ.get("CLIENTS", "1")), int(os.environ.get("SEED", "1"))
RATE = float(os.environ.get("RATE", "0"))
JSON = {"Content-Type": "application/json"}

# What share of the requests each kind has.
SHARES = {"buy": 40, "event": 20, "sales": 15, "open": 5, "unknown": 5, "broken": 5, "quote": 10, "lucky": 5}


def request_of(kind, chance):
    """(method, path, body, statuses)"""
    number = chance.randrange(100)
    return {
        "buy": lambda: ("POST", "/tickets", {"event": number % 20, "seats": 1 + number % 4}, {201}),
        "event": lambda: ("GET", f"/events/{number % 20}", None, {200}),
        "sales": lambda: ("GET", f"/sales/{number % 20}", None, {200}),
        "open": lambda: ("GET", "/open", None, {200}),
        "lucky": lambda: ("GET", "/lucky", None, {200}),
        "unknown": lambda: ("POST", "/tickets", {"event": 100 + number, "seats": 1}, {404}),
        "broken": lambda: ("POST", "/tickets", {"event": number % 20}, {400}),
        "quote": lambda: ("GET", f"/quotes/{number % 5}", None, {200}),
        "login": lambda: ("POST", "/login", {"name": "ann"}, {200}),
    }[kind]()


class Client(threading.Thread):
    def __init__(self, number, requests, kinds):
        super().__init__()
        self.requests, self.kinds = requests, kinds
        self.chance = random.Random(f"{SEED} {number}")
        self.connection = http.client.HTTPConnection(TICKETS.hostname, TICKETS.port, timeout=60)
        self.latencies, self.unexpected = [], []

    def ask(self, method, path, body, headers):
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def run(self):
        begin = time.monotonic()
        for number in range(self.requests):
            if RATE:
                time.sleep(max(0, begin + number * CLIENTS / RATE - time.monotonic()))
            kind = self.kinds[number % len(self.kinds)] if self.kinds else self.chance.choices(list(SHARES), SHARES.values())[0]
            self.send(kind)

    def send(self, kind):
        headers = dict(JSON)
        if kind == "me":
            _, answer = self.ask("POST", "/login", {"name": "ann"}, JSON)
            headers["Authorization"] = f"Bearer {answer['token']}"
            asked = ("GET", "/me", None, {200})
        else:
            asked = request_of(kind, self.chance)
        method, path, body, expected = asked
        begin = time.perf_counter_ns()
        status, answer = self.ask(method, path, body, headers)
        self.latencies.append((time.perf_counter_ns() - begin) / 1000)
        if status not in expected:
            self.unexpected.append(f"{method} {path}: {status} {answer}")


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    clients = [Client(number, requests // CLIENTS, sys.argv[2:]) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if "LATENCIES" in os.environ:
        pathlib.Path(os.environ["LATENCIES"]).write_text(json.dumps([each for client in clients for each in client.latencies]))
    unexpected = [text for client in clients for text in client.unexpected]
    print("\n".join(unexpected))
    whole = all(len(client.latencies) == client.requests for client in clients)
    sys.exit(0 if whole and not unexpected else 1)


if __name__ == "__main__":
    main()
