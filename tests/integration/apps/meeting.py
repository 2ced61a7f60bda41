"""A service that answers requests only when enough of them are there: they are open at the same time.

meeting.py PORT NUMBER: a request whose path ends with /0 waits until NUMBER of them have come, and any but /heartbeat
until another heartbeat has come, if there was one ever.
"""
import http.server
import sys
import threading

everyone = threading.Barrier(int(sys.argv[2]))
changed, beats = threading.Condition(), 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        global beats
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/heartbeat":
            with changed:
                beats += 1
                changed.notify_all()
        else:
            if self.path.endswith("/0"):
                everyone.wait(timeout=60)
            with changed:
                enough = beats + 1 if beats else 0
                changed.wait_for(lambda: beats >= enough, timeout=60)
        body = f"{self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
