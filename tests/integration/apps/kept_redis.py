"""kept_redis.py PORT REDIS_PORT: answers each GET with what Redis has, over one connection that it keeps."""
import http.server
import sys

import redis

cache = redis.Redis(port=int(sys.argv[2]))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(cache.get("key")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
