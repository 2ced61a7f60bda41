"""A service with a thread for each connection that plays its own observer (apps/attached.py): it tells the proxy who reads and
who writes, as eBPF would.

observed.py PORT BACK [--blind]: for GET /n it GETs /n/0 and /n/1 of the loopback port BACK, from two call sites, over one
connection. With --blind it says nothing of who reads.
"""
import argparse
import ctypes
import http.client
import http.server
import os
import socket
import struct
import threading

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("back", type=int)
parser.add_argument("--blind", action="store_true")
options = parser.parse_args()
events = socket.socket(fileno=int(os.environ["EVENTS_FD"]))
libc = ctypes.CDLL(None)
# Addresses of code, as call stacks have them: all threads call from these two places.
SITES = [ctypes.cast(function, ctypes.c_void_p).value + 1 for function in (libc.qsort, libc.bsearch)]
WRITE, READ = 1, 2


def address(port):
    return struct.pack("=16sHH", bytes(10) + b"\xff\xff\x7f\0\0\1", port, 0)


def tell(kind, local, remote, position=0, size=0, *stack):
    """One fb_event (bpf/attached.h)."""
    events.send(struct.pack("=IIIIQQ", kind, 0, os.getpid(), threading.get_native_id(), 0, 0) + address(local)
                + address(remote) + struct.pack(f"=IIIiIIQ{len(stack)}Q", position, size, 0, len(stack), 0, 0, 0, *stack))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        if not options.blind:
            tell(READ, options.port, self.client_address[1])
        with socket.create_connection(("127.0.0.1", options.back)) as connection:
            position = 0
            for site in range(2):
                request = f"GET {self.path}/{site} HTTP/1.1\r\nHost: back\r\n\r\n".encode()
                tell(WRITE, connection.getsockname()[1], options.back, position, len(request), SITES[site])
                connection.sendall(request)
                position += len(request)
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                answer.read()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
