"""A service under test: service.py PORT FILE, where FILE has a function answer(call) that returns a status and a text.

call("NAME", "GET", "/path"[, BODY]) asks the service NAME, whose port is in the environment as PORT_NAME, and returns its status and
its text; 0 and "" if no answer came. call("NAME", "GET", "key") with a path without slash asks it by Redis; the status is 200 unless it
answers with an error.
"""
import http.client
import http.server
import json
import os
import runpy
import socket
import sys


def redis(port, *words):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
        said = connection.makefile("rb").readline().decode()
    return (500 if said.startswith("-") else 200 if said else 0), said.strip()


def call(name, method, path, body=None, host=None):
    port = int(os.environ[f"PORT_{name.upper()}"])
    try:
        if not path.startswith("/"):
            return redis(port, method, path)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""


class Handler(http.server.BaseHTTPRequestHandler):
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        status, text = answer(call)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *unused):
        pass


answer = runpy.run_path(sys.argv[2])["answer"]
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
