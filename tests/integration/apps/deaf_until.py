"""A server that reads the body of a POST only after GET /within; before, it waits until its client sleeps in a send, and
signals it. deaf_until.py PORT"""
import http.server
import os
import signal
import sys
import threading
import time

# write, writev, sendto, sendmsg
SENDS = {"x86_64": {"1", "20", "44", "46"}, "aarch64": {"64", "66", "206", "211"}}[os.uname().machine]
awake = threading.Event()


def sleeps_in_a_send(pid, tid):
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall") as file:
            return file.read().split()[0] in SENDS
    except OSError:
        return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer()
        if self.path == "/within":
            awake.set()

    def do_POST(self):
        pid, tid = self.headers["Pid"], self.headers["Tid"]
        while not sleeps_in_a_send(pid, tid):
            time.sleep(0.01)
        os.kill(int(pid), signal.SIGUSR1)
        awake.wait()
        left = int(self.headers["Content-Length"])
        while left and (piece := self.rfile.read(min(left, 1 << 20))):
            left -= len(piece)
        self.answer()

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
