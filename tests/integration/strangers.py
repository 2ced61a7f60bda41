"""A server of HTTP/1.1 that is no part of the application, and keeps what it is sent."""
import contextlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def stranger(tls=None):
    """Gives (port, the fields of each request so far). `tls`: the folder of its certificate; None: it speaks in the clear."""
    heads = []

    class Keeping(BaseHTTPRequestHandler):
        def do_GET(self):
            heads.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{tls}/cert.pem", f"{tls}/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], heads
    finally:
        server.shutdown()
        server.server_close()


def fields_of_ours(heads):
    return [name for head in heads for name in head if "filibuster" in name.lower()]
