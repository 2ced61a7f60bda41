"""A service that writes down what it receives, before it answers.

counting.py FILE ADDRESS... [--body TEXT]: ADDRESS is HOST:PORT, [::1]:PORT, or the path of a Unix socket.
"""
import argparse
import http.server
import os
import socket
import threading

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("addresses", nargs="+")
parser.add_argument("--body", default='{"from": "the server"}')
options = parser.parse_args()
received = os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = False  # a Unix socket has none

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        os.write(received, f"{self.command} {self.path}\n".encode())
        self.send_response(200)
        self.send_header("Content-Length", str(len(options.body)))
        self.end_headers()
        self.wfile.write(options.body.encode())

    do_POST = do_GET

    def address_string(self):
        return "peer"

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address):
        if address.startswith("/"):
            self.address_family = socket.AF_UNIX
            super().__init__(address, Handler, bind_and_activate=False)
            if os.path.exists(address):
                os.unlink(address)
            self.socket.bind(address)
            self.server_activate()
            return
        host, _, port = address.rpartition(":")
        self.address_family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        super().__init__((host.strip("[]"), int(port)), Handler)

    def server_bind(self):
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        super().server_bind()


servers = [Server(address) for address in options.addresses]
for server in servers[1:]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print("counting", flush=True)
servers[0].serve_forever()
