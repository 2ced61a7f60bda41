"""own_server.py CODE [FRONT]: serves on a port of its own and asks there, as tests with embedded servers do, or has FRONT
(apps/relay.py) ask there; exits with CODE. An answer that is an error is no failure."""
import http.server
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
own = f"http://127.0.0.1:{server.server_port}/own"
url = own if len(sys.argv) < 3 else f"{sys.argv[2]}?to={urllib.parse.quote(own, safe='')}"
try:
    urllib.request.urlopen(url).read()
except urllib.error.HTTPError:
    pass
sys.exit(int(sys.argv[1]))
