"""A service of HTTP and Redis: profile.py PORT CACHE USERS [repaired]. GET / answers with the name of user 7, out of the cache or else
out of the users' service. As it stands, it keeps in the cache what the users' service said when it failed."""
import http.client
import http.server
import sys

import redis

port, cache, users = map(int, sys.argv[1:4])
repaired = "repaired" in sys.argv


def of_cache(do):
    try:
        return do(redis.Redis(port=cache, decode_responses=True))
    except redis.RedisError:
        return None


def ask():
    try:
        connection = http.client.HTTPConnection("127.0.0.1", users, timeout=10)
        connection.request("GET", "/users/7")
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return 503, "nobody"


class Handler(http.server.BaseHTTPRequestHandler):
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        name = of_cache(lambda store: store.get("profile"))
        if name is not None:
            return self.answer(200, name)
        status, name = ask()
        if not repaired or status == 200:
            of_cache(lambda store: store.set("profile", name))
        return self.answer(200, name) if status == 200 else self.answer(503, "no user")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *unused):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
