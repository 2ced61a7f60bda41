"""A server that some requests do not have to wait for: early_answers.py PORT NUMBER... Of the PUTs that say `Expect: 100-continue` it
answers those of these numbers (from 1 on; '3-': all from the third on) together with its 100, before it has their bodies. Its 100 says so
(`early: yes`), so that a client knows for what to wait."""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EARLY = sys.argv[2:]


def is_early(number):
    return any(number >= int(one[:-1]) if one.endswith("-") else number == int(one) for one in EARLY)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    puts = 0

    def handle_expect_100(self):
        return True  # do_PUT says it

    def do_PUT(self):
        Handler.puts += 1
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        early = is_early(Handler.puts)
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n" + (b"early: yes\r\n\r\n" + answer if early else b"\r\n"))
        self.rfile.read(int(self.headers["Content-Length"]))
        if not early:
            self.wfile.write(answer)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
