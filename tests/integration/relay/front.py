"""`front.py PORT BACK`: GET / makes a gRPC call to BACK (grpc_server.py) on one channel that lives as long as
the process, and answers 200 with what came, or 503 with the code."""
import http.server
import sys

import grpc

channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[2]}")
unary = channel.unary_unary("/t.T/Unary")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            status, answer = 200, unary(b"question", timeout=10)
        except grpc.RpcError as error:
            status, answer = 503, error.code().name.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
