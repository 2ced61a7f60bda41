"""shop_gateway.py PORT CATALOG PAYMENTS STOCK: a service with three call sites. It asks for three pages at one of them, and tries to pay up to three times at
another one; only what was not paid is a failure of its own. /pages, /pay and /stock reach one of them, / all."""
import http.client
import http.server
import sys

PORT, CATALOG, PAYMENTS, STOCK = map(int, sys.argv[1:])


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except OSError:
        return None
    finally:
        connection.close()


def pages():
    for page in range(3):
        get(CATALOG, f"/books?page={page}")


def stock():
    get(STOCK, "/")


def pay():
    return any(get(PAYMENTS, "/") == 200 for _ in range(3))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        results = [act() for act in (pages, pay, stock) if self.path in ("/", f"/{act.__name__}")]
        self.send_response(500 if False in results else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
