"""A service with a breaker: breaker.py PORT LIMIT [--closes AFTER] URL... GETs each URL in turn, and answers 200 in any case.
After LIMIT requests with a failing call, of one process, it calls none of them any more; with --closes, AFTER requests later it
begins anew."""
import argparse
import http.client
import http.server
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("limit", type=int)
parser.add_argument("--closes", type=int, default=0)
parser.add_argument("urls", nargs="+")
options = parser.parse_args()
failures = passed = 0


def call(url):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=1)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global failures, passed
        if failures < options.limit:
            failures += not all([call(url) for url in options.urls])
        else:
            passed += 1
            if options.closes and passed == options.closes:
                failures = passed = 0
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
