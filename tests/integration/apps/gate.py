"""A service some of whose answers wait until they are let go: gate.py PORT.

GET /NAME/0 is answered when somebody has asked for /go/NAME/0, and GET /came/NAME/N when somebody has asked for /NAME/N. Everything
else is answered at once.
"""
import http.server
import sys
import threading

lock, events = threading.Lock(), {}


def event(name):
    with lock:
        return events.setdefault(name, threading.Event())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        good = True
        if self.path.startswith("/came/"):
            good = event(self.path).wait(60)
        elif self.path.startswith("/go/"):
            event(self.path).set()
        else:
            event("/came" + self.path).set()
            if self.path.endswith("/0"):
                good = event("/go" + self.path).wait(60)
        self.send_response(200 if good else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
