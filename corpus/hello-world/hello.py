"""Hello: answers GET /hello?n=N with what World says to N names, asked for by a pool of two threads."""
import argparse
import concurrent.futures
import http.client
import http.server
import os
import urllib.parse

WORLD = urllib.parse.urlsplit(os.environ["WORLD_URL"])
THREADS = 2
TIMEOUT = 5.0  # seconds
MOST = 1000  # requests to World for one of ours

pool = concurrent.futures.ThreadPoolExecutor(THREADS)


def ask_world(name):
    connection = http.client.HTTPConnection(WORLD.hostname, WORLD.port, timeout=TIMEOUT)
    try:
        connection.request("GET", f"/world?name={name}")
        response = connection.getresponse()
        text = response.read().decode()
        return text if response.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        target = urllib.parse.urlsplit(self.path)
        if target.path == "/health":
            return self.answer(200, "")
        n = min(MOST, int(urllib.parse.parse_qs(target.query).get("n", ["2"])[0]))
        answers = list(pool.map(ask_world, range(1, n + 1)))
        if None in answers:
            return self.answer(503, "world is unavailable")
        self.answer(200, "\n".join(answers))

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
