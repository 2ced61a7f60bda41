"""How many there are."""
import http.server
import sys


class Stock(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"7")


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Stock).serve_forever()
