"""What both services share: HTTP/1.1 with JSON bodies, served and asked."""
import contextlib
import http.client
import http.server
import json
import sys
import urllib.parse

TIMEOUT = 5  # seconds


class NoAnswer(Exception):
    """A request had no answer. `sent`: it may have reached the service."""

    def __init__(self, error):
        super().__init__(repr(error))
        self.sent = not isinstance(error, ConnectionRefusedError)


class Peer:
    """Another service, on kept connections, each for one request at a time. One that failed is closed, and made anew when it is used."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.idle = []

    def post(self, path, value):
        """The status of the answer. Raises NoAnswer."""
        connection = self.idle.pop() if self.idle else http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=TIMEOUT)
        try:
            connection.request("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoAnswer(error) from error
        finally:
            self.idle.append(connection)


def serve(answer):
    """Serves on the port that the command line names. `answer(method, path, value)` returns a status and a value."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer leaves in one piece
        disable_nagle_algorithm = True

        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, value = 400, None
            with contextlib.suppress(json.JSONDecodeError, KeyError):  # what is no request of ours
                status, value = (204, None) if self.path == "/health" else answer(self.command, self.path, json.loads(body) if body else None)
            text = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 128

    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
