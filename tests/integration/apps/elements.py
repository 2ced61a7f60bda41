"""A service of chunked requests: elements.py PORT FIFO [URL]. Of each chunk of a POST it makes one request to URL at
once, while the stream is open: a GET, or, where URL is another of these services (its path is /stream), a chunked
POST of the same chunk in two pieces. Then it writes one byte to FIFO. Goes on whatever fails; answers 200, or 503 if
something failed. A GET is answered with 200, and so is a PUT that tells the length of its body."""
import http.client
import http.server
import os
import sys
import urllib.parse

PORT, FIFO = int(sys.argv[1]), sys.argv[2]
NEXT = urllib.parse.urlsplit(sys.argv[3]) if len(sys.argv) > 3 else None


def ask(chunk):
    connection = http.client.HTTPConnection(NEXT.hostname, NEXT.port, timeout=10)
    try:
        if NEXT.path == "/stream":
            connection.request("POST", NEXT.path, iter([chunk[:1], chunk[1:]]), encode_chunked=True,
                               headers={"Transfer-Encoding": "chunked"})
        else:
            connection.request("GET", NEXT.path)
        response = connection.getresponse()
        response.read()
        return response.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def chunks(self):
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def do_POST(self):
        good = True
        with open(os.devnull if FIFO == "-" else FIFO, "wb", buffering=0) as done:
            for chunk in self.chunks():
                good = ask(chunk) and good
                done.write(b".")
        self.answer(200 if good else 503)

    def do_GET(self):
        self.answer(200)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
