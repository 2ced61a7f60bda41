"""Catalogue: answers GET /products/<number> with the product as JSON. The origin of what the cache keeps."""
import http.server
import json
import sys

PRODUCTS = {7: {"id": 7, "name": "kettle", "price": 3900}, 8: {"id": 8, "name": "teapot", "price": 2400}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {})
        _, *words = self.path.split("/")
        product = PRODUCTS.get(int(words[1])) if words[0] == "products" and words[1:] and words[1].isdigit() else None
        self.answer(404 if product is None else 200, product or {})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
