"""World: greets the name that it is asked with."""
import argparse
import http.server
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        target = urllib.parse.urlsplit(self.path)
        names = urllib.parse.parse_qs(target.query).get("name", [])
        body = f"hello {names[0]}".encode() if names else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
