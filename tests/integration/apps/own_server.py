"""own_server.py CODE: serves on a port of its own and asks there, as tests with embedded servers do; exits with CODE."""
import http.server
import sys
import threading
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
urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/own").read()
sys.exit(int(sys.argv[1]))
