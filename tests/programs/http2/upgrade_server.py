"""upgrade_server.py PORT: HTTP/1.1 that is upgraded to HTTP/2 where the client asks for it (RFC 7540 3.2). Answers with
the path and, a line each, the values of our field."""
import socketserver
import sys

import h2.config
import h2.connection
import h2.events


def answer(path, fields):
    values = [value for name, value in fields if name.lower() == "x-filibuster"]
    return "".join(f"{line}\n" for line in [path, *values]).encode()


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.request.recv(65536)
            if not piece:
                return
            data += piece
        head, rest = data.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = [line.split(": ", 1) for line in lines]
        (settings,) = [value for name, value in fields if name.lower() == "http2-settings"]
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
        connection.initiate_upgrade_connection(settings_header=settings.encode())
        self.answered(connection, 1, answer(first.split()[1], fields))
        # In one write: the answer follows the 101 at once.
        self.request.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
                             + connection.data_to_send())
        while True:
            for event in connection.receive_data(rest):
                if isinstance(event, h2.events.RequestReceived):
                    self.answered(connection, event.stream_id, answer(dict(event.headers)[":path"], event.headers))
            self.request.sendall(connection.data_to_send())
            rest = self.request.recv(65536)
            if not rest:
                return

    @staticmethod
    def answered(connection, stream, body):
        connection.send_headers(stream, [(":status", "200"), ("content-length", str(len(body)))])
        connection.send_data(stream, body, end_stream=True)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
