"""A service that does not play by the rules: unruly.py PORT MODE [URL]

breaker  calls URL; once that failed it never calls again and answers 503
patient  makes the file received-PID, waits until the process of that PID (the field x-test of the request) has ended, calls
         URL, answers: whoever asked is gone by then
later    answers 202 at once, then calls URL
itself   /: calls itself (/inner), which calls URL
forever  every request makes another one to itself; each 300th is never answered, so that it comes to rest
endless  answers 200; a thread then reads an answer of URL that never ends (/endless of another one)
"""
import http.client
import http.server
import os
import sys
import threading
import time
import urllib.parse

port, mode, target = int(sys.argv[1]), sys.argv[2], (sys.argv[3:] or [""])[0]
broken, levels = False, 0
released = threading.Event()


def call(url):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=None if "/endless" in url or mode == "forever" else 2)
    try:
        connection.request("GET", parts.path)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        return 503
    finally:
        connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        global broken, levels
        status = 200
        if self.path == "/endless":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while not released.wait(0.02):
                self.wfile.write(b"1\r\n.\r\n")
                self.wfile.flush()
            return
        if self.path == "/inner" or mode == "patient":
            if mode == "patient":
                asker = self.headers["x-test"]
                open(f"received-{asker}", "w").close()
                while os.path.exists(f"/proc/{asker}"):
                    time.sleep(0.01)
            status = 200 if call(target) == 200 else 503
        elif mode == "breaker":
            broken = broken or call(target) != 200
            status = 503 if broken else 200
        elif mode == "itself":
            status = call(f"http://127.0.0.1:{port}/inner")
        elif mode == "forever":
            levels += 1
            if levels % 300 == 0:
                released.wait()
            status = call(f"http://127.0.0.1:{port}/again")
        elif mode == "later":
            status = 202
        body = b"done\n"
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            pass  # whoever asked is gone
        if mode in ("later", "endless") and target:
            threading.Thread(target=call, args=(target,), daemon=True).start()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
