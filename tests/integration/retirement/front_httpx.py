"""`front_httpx.py PORT BACK`: GET / makes a request to BACK (back.mjs) on one connection of httpx with HTTP/2, and
answers with its status."""
import http.server
import sys

import httpx

client = httpx.Client(http1=False, http2=True, timeout=10)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            status = client.get(f"http://127.0.0.1:{sys.argv[2]}/").status_code
        except httpx.HTTPError:
            status = 503
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
