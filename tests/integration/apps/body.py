"""A service whose answer has a body of 2000 bytes, or of so many as its path says:
body.py PORT [chunked] [everywhere: it listens at every address] [tls=DIRECTORY of cert.pem and key.pem]"""
import http.server
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = int(self.path[1:]) if self.path[1:].isdigit() else 2000
        body = b"0123456789" * (size // 10)
        self.send_response(200)
        if "chunked" in sys.argv:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for at in range(0, len(body), 600):
                piece = body[at:at + 600]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host = "" if "everywhere" in sys.argv else "127.0.0.1"
server = http.server.ThreadingHTTPServer((host, int(sys.argv[1])), Handler)
for word in sys.argv:
    if word.startswith("tls="):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(word[4:] + "/cert.pem", word[4:] + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
