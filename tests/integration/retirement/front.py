"""`front.py PORT BACK`: what a service does with one gRPC channel that lives as long as the process.

GET / makes a call to BACK (relay/grpc_server.py) and answers 200, or 503 with the code. GET /start opens a stream
on which a message is echoed every few milliseconds, and begins threads that call without a pause; GET /stop
ends the threads. GET /stats says how they fared.
"""
import http.server
import json
import sys
import threading
import time

import grpc

channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[2]}")
unary, both = channel.unary_unary("/t.T/Unary"), channel.stream_stream("/t.T/Both")
lock, stopped = threading.Lock(), threading.Event()
stats = {"calls": 0, "messages": 0, "failed": []}


def count(what, error=None):
    with lock:
        stats[what] += 1
        if error is not None:
            stats["failed"].append(f"{what}: {error}")


def stream():
    last = time.monotonic() + 600
    echoed = threading.Semaphore(1)

    def messages():
        while time.monotonic() < last:
            echoed.acquire()
            yield b"message"
            time.sleep(0.005)
    try:
        for message in both(messages(), wait_for_ready=True):
            assert message == b"message"
            count("messages")
            echoed.release()
    except grpc.RpcError as error:
        count("messages", error.code())


def call():
    while not stopped.is_set():
        try:
            assert unary(b"again", timeout=10) == b"again"
            count("calls")
        except grpc.RpcError as error:
            count("calls", error.code())
        time.sleep(0.001)


def start(*functions):
    for function in functions:
        threading.Thread(target=function, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, answer = 200, b""
        if self.path == "/start":
            start(stream, call, call)
        elif self.path == "/stop":
            stopped.set()
        elif self.path == "/stats":
            with lock:
                answer = json.dumps(stats).encode()
        else:
            try:
                answer = unary(b"question", timeout=10)
            except grpc.RpcError as error:
                status, answer = 503, error.code().name.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
