"""A server that does something at the sight of a request's head, and clients that wait for that before they send the body.

head_first.py serve PORT          does all of it at once, for the KIND that the path names, in the folder that the head names
head_first.py PORT KIND...        each in a process of its own; prints the kinds that waited in vain
"""
import contextlib
import ctypes
import http.client
import http.server
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 20  # what is not seen by then is not seen at all
libc = ctypes.CDLL(None, use_errno=True)


def helpers():
    """Threads of the library's: none where nothing is held."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/comm") as file:
            names.append(file.read().strip())
    return [name for name in names if name == "filibuster"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        folder = self.headers["Folder"]
        open(f"{folder}/seen", "w").close()
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(f"{folder}/other")
            other.sendall(b".")
        with open(f"{folder}/pipe", "wb", buffering=0) as pipe:
            pipe.write(b".")
        os.kill(int(self.headers["Pid"]), signal.SIGUSR1)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Client:
    def __init__(self, port, kind):
        self.folder = tempfile.mkdtemp()
        os.mkfifo(f"{self.folder}/pipe")
        self.pipe = os.open(f"{self.folder}/pipe", os.O_RDWR)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder}/other")
        self.listener.listen()
        self.port, self.kind, self.came = port, kind, False

    def seen(self):
        return os.path.exists(f"{self.folder}/seen")

    # Each returns when the server has seen the head, or after its patience.

    def sleep(self):
        time.sleep(PATIENCE)  # the signal's handler ends it

    def usleep(self):
        end = time.monotonic() + PATIENCE
        while not self.seen() and time.monotonic() < end:
            libc.usleep(1000)

    def busy(self):
        end = time.monotonic() + PATIENCE
        while not self.came and time.monotonic() < end:  # by the signal
            pass

    def other_thread(self):
        os.read(self.pipe, 1)
        with self.changed:
            self.told = True
            self.changed.notify()

    def condition(self):
        self.changed, self.told = threading.Condition(), False
        threading.Thread(target=self.other_thread, daemon=True).start()
        with self.changed:
            self.changed.wait_for(lambda: self.told, PATIENCE)

    def join(self):
        thread = threading.Thread(target=os.read, args=(self.pipe, 1), daemon=True)
        thread.start()
        thread.join(PATIENCE)

    def waitpid(self):
        child = subprocess.Popen(["sh", "-c", f"while [ ! -e {self.folder}/seen ]; do sleep 0.01; done"])
        os.waitpid(child.pid, 0)

    def system(self):
        os.system(f"while [ ! -e {self.folder}/seen ]; do sleep 0.01; done")

    def sigtimedwait(self):
        signal.sigtimedwait([signal.SIGUSR1], PATIENCE)

    def read(self):
        os.read(self.pipe, 1)

    def recv(self):
        self.other.recv(1)

    def accept(self):
        self.other = self.listener.accept()[0]

    def select(self):
        select.select([self.pipe], [], [], PATIENCE)

    def poll(self):
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        poll.poll(PATIENCE * 1000)

    def epoll(self):
        poll = select.epoll()
        poll.register(self.pipe, select.EPOLLIN)
        poll.poll(PATIENCE)

    def polling(self):
        """Without ever waiting in it."""
        poll, end = select.poll(), time.monotonic() + PATIENCE
        poll.register(self.pipe, select.POLLIN)
        while not poll.poll(0) and time.monotonic() < end:
            pass

    def run(self):
        class Woken(Exception):
            pass

        def woken(*_):
            self.came = True
            if self.kind == "sleep":
                raise Woken

        signal.signal(signal.SIGUSR1, woken)
        if self.kind == "sigtimedwait":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        if self.kind != "accept":
            def take():
                self.other = self.listener.accept()[0]
            taking = threading.Thread(target=take, daemon=True)
            if self.kind == "recv":  # the other connection is there before
                taking.start()
                early = socket.socket(socket.AF_UNIX)
                early.connect(f"{self.folder}/other")
                taking.join()
                threading.Thread(target=lambda: early.sendall(self.listener.accept()[0].recv(1)), daemon=True).start()
            else:
                taking.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest("POST", f"/{self.kind}")
        for name, value in {"Content-Length": 5, "Folder": self.folder, "Pid": os.getpid()}.items():
            connection.putheader(name, str(value))
        try:
            connection.endheaders()
            getattr(self, self.kind)()
        except Woken:
            pass
        good = self.seen()
        connection.send(b"12345")
        good = good and connection.getresponse().read() == b"12345"
        end = time.monotonic() + PATIENCE
        while helpers() and time.monotonic() < end:
            time.sleep(0.01)
        return good and not helpers()


if sys.argv[1] == "serve":
    http.server.ThreadingHTTPServer.daemon_threads = True
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
elif len(sys.argv) == 3:
    threading.Timer(2 * PATIENCE, os._exit, [1]).start()
    os._exit(0 if Client(int(sys.argv[1]), sys.argv[2]).run() else 1)
else:
    clients = {kind: subprocess.Popen([sys.executable, __file__, sys.argv[1], kind]) for kind in sys.argv[2:]}
    print(*[kind for kind, client in clients.items() if client.wait() != 0])
