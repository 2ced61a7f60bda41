"""A service that keeps its connections: `kept.py PORT` answers each GET with its path; `kept.py PORT BACK` asks BACK (a
loopback port), over a connection of its thread that it keeps, and answers what came back, or 500 and what failed."""
import http.client
import http.server
import sys
import threading

port, back = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
own = threading.local()


def ask(path):
    own.connection = getattr(own, "connection", None) or http.client.HTTPConnection("127.0.0.1", back, timeout=20)
    try:
        own.connection.request("GET", path)
        response = own.connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        own.connection.close()
        return 500, repr(error).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        status, body = ask(self.path) if back else (200, self.path.encode())
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
