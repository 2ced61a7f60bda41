"""A service whose ends differ: `covered.py PORT END CALL`. GETs CALL for every request; answers 200, or 503 through
`failed`, whose lines only faults reach. END: how it ends by SIGTERM (default, own: by a handler of its own), or what it does when
CALL fails (crash; exit: by os._exit; quit: by libc's _exit, past Python), or where the work is done (fork: in a child that leaves by os._exit)."""
import ctypes
import http.server
import os
import signal
import sys
import urllib.request

END, CALL = sys.argv[2:4]


def failed():
    if END == "crash":
        signal.raise_signal(signal.SIGSEGV)  # its last line
    if END == "quit":
        ctypes.CDLL(None)._exit(7)
    if END == "exit":
        os._exit(7)
    return 503


def ask():
    try:
        urllib.request.urlopen(CALL, timeout=10).read()
        return 200
    except OSError:
        return failed()


def ask_in_child():
    child = os.fork()
    if child == 0:
        os._exit(0 if ask() == 200 else 1)
    return 200 if os.waitpid(child, 0)[1] == 0 else 503


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = 204 if self.path == "/health" else ask_in_child() if END == "fork" else ask()
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def leave(*_):
    print("its own end", flush=True)
    sys.exit(0)


if END == "own":
    signal.signal(signal.SIGTERM, leave)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
