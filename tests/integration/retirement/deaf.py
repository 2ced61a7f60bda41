"""`deaf.py PORT`: HTTP/2 that answers every request with 200, and no PING (RFC 9113 6.7 demands it)."""
import socketserver
import sys

DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        self.wfile.write(frame(SETTINGS, 0, 0))
        while header := self.rfile.read(9):
            kind, flags = header[3:5]
            self.rfile.read(int.from_bytes(header[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self.wfile.write(frame(SETTINGS, ACK, 0))
            elif kind in (DATA, HEADERS) and flags & END_STREAM:
                stream = int.from_bytes(header[5:], "big")
                self.wfile.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x88"))  # :status 200


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
