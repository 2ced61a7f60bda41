"""A gateway that says to another service when something failed, and only then.

reporter.py PORT --call URL... --report URL --body KIND (see BODIES)   POSTs what failed; answers 500 if that fails, too
reporter.py PORT --call URL... --fallback URL          GETs this if a call failed, but the first time only
"""
import argparse
import http.client
import http.server
import itertools
import json
import time
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--call", action="append", default=[], dest="calls")
parser.add_argument("--report")
parser.add_argument("--body", default="time")
parser.add_argument("--fallback")
options = parser.parse_args()
reports = itertools.count()  # kept from one test to the next, as long as this process lives


def call(method, url, body=None):
    """Did the call succeed?"""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request(method, parts.path, body)
        response = connection.getresponse()
        response.read()
        return response.status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


BODIES = {
    "time": lambda failed: json.dumps({"at": time.time(), "failed": failed}),
    "count": lambda failed: json.dumps({"at": next(reports), "failed": failed}),
    "text": lambda failed: f"at {time.time()}: {failed}",
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        failed = [url for url in options.calls if not call("GET", url)]
        status = 503 if failed else 200
        # By the place of a call, since ports are others from run to run.
        places = [options.calls.index(url) for url in failed]
        if failed and options.report and not call("POST", options.report, BODIES[options.body](places).encode()):
            status = 500
        if failed and options.fallback and next(reports) == 0 and not call("GET", options.fallback):
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
