"""A server whose clients retry: retried.py PORT. It notes each request that reaches it in the file `served`, a line with
the header field x-run, the method, the path and the status of the answer.

  /ok       200
  /error    503, always
  /third    503, but for every third request of a run"""
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SEEN = Counter()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        run = self.headers.get("x-run", "0")
        SEEN[run, self.path] += 1
        fails = self.path == "/error" or (self.path == "/third" and SEEN[run, self.path] % 3 != 0)
        status = 503 if fails else 200
        with open("served", "a", encoding="ascii") as file:
            file.write(f"{run} {self.command} {self.path} {status}\n")
        body = b"busy" if fails else b"done"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
