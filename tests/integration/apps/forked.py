"""A service of several processes, each with a pool of connections that it keeps: GETs three items of another one for each
request, one after the other, and answers what it saw of each, {"1": "200", "2": "refused", "3": "reset"}. Which process serves
a request, and whether its pool has a connection, is the kernel's choice.

forked.py PORT ITEMS-URL PROCESSES [--again: a failed item is asked for a second time] [--skip: the item after a failed one is
not asked for] [--plain: no library looks whether a kept connection has ended before it is used again] [--fresh: no connection
is kept]
forked.py PORT: the other service, which keeps its connections.
"""
import argparse
import http.client
import http.server
import json
import os
import signal
import socket
import sys
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("items", nargs="?")
parser.add_argument("processes", type=int, nargs="?", default=1)
parser.add_argument("--again", action="store_true")
parser.add_argument("--skip", action="store_true")
parser.add_argument("--fresh", action="store_true")
parser.add_argument("--plain", action="store_true")
options = parser.parse_args()
SECONDS = 0.5


class Pooled:
    def __init__(self):
        import requests
        self.session = requests.Session()
        self.session.trust_env = False
        if options.fresh:
            self.session.headers["Connection"] = "close"

    def get(self, url):
        return self.session.get(url, timeout=SECONDS).status_code


class Plain:
    """One connection of http.client, which is opened anew when it has failed."""

    def __init__(self):
        self.connection = None

    def get(self, url):
        parts = urllib.parse.urlsplit(url)
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
            self.connection.request("GET", parts.path)
            response = self.connection.getresponse()
            response.read()
            return response.status
        except BaseException:
            self.connection.close()
            self.connection = None
            raise


def seen(client, url):
    try:
        return str(client.get(url))
    except Exception as error:
        text = repr(error)
        for name, marks in {"refused": ["Connection refused", "ConnectionRefused"],
                            "reset": ["ConnectionReset", "Connection aborted", "RemoteDisconnected", "BrokenPipe"],
                            "timeout": ["timed out", "Timeout"]}.items():
            if any(mark in text for mark in marks):
                return name
        return text


class Items(http.server.BaseHTTPRequestHandler):
    client = None

    def do_GET(self):
        answers = {}
        for item in "123":
            if options.skip and any(answer not in ("200", "skipped") for answer in list(answers.values())[-1:]):
                answers[item] = "skipped"
                continue
            answers[item] = seen(self.client, f"{options.items}/{item}")
            if options.again and answers[item] != "200":
                answers[item] += "," + seen(self.client, f"{options.items}/{item}")
        body = json.dumps(answers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Back(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        if self.close_connection:
            self.send_header("Connection", "close")  # or the client may use it again before it is closed
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass


address = ("127.0.0.1", options.port)
if options.items is None:
    server = http.server.ThreadingHTTPServer(address, Back)
    server.daemon_threads = True
    server.serve_forever()
server = http.server.HTTPServer(address, Items)
children = []
for _ in range(options.processes - 1):
    child = os.fork()
    if child == 0:
        children = []
        break
    children.append(child)


def leave(*_):
    for child in children:
        os.kill(child, signal.SIGTERM)
    os._exit(0)


signal.signal(signal.SIGTERM, leave)
Items.client = Plain() if options.plain else Pooled()
server.serve_forever()
