"""Shows the stock, and 'ask us' where it cannot be reached. What it does with an answer that is an error is the planted bug."""
import http.server
import sys
import urllib.error
import urllib.request


def stock():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}/", timeout=1) as answer:
            return answer.read()
    except urllib.error.HTTPError:
        raise  # planted: nobody catches it
    except OSError:
        return b"ask us"


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, text = 200, stock()
        except urllib.error.HTTPError:
            status, text = 500, b"oops"
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
