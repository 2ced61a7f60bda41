"""raw.py serve PORT FILE: writes down what each connection sends, and answers a preface with SETTINGS.
raw.py send PORT FILE [STEP]: sends the file, in writes of STEP bytes, to the end.
raw.py blocked PORT: an HTTP/2 client with one thread that is always in a blocking read, and another that sends two
requests; prints the statuses.
raw.py halves PORT: one HTTP/2 connection after the other, on each of them a request for /hello, of whose answer one byte
more is read each time before a request for /none is made and the rest is read; at last it is whole before.
Prints the statuses of each, then how many 503 were among them."""
import os
import socket
import socketserver
import sys
import threading

SETTINGS = b"\0\0\0\x04\0\0\0\0\0"
CONNECTIONS = 160  # more than the answer to /hello has bytes


class Recorder(socketserver.BaseRequestHandler):
    def handle(self):
        data = b""
        while piece := self.request.recv(65536):
            if not data and piece[:1] == b"P":
                self.request.sendall(SETTINGS)
            data += piece
        if data:
            with open(sys.argv[3], "ab") as out:
                out.write(data)
            self.request.sendall(b"done")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def send(port, name, step):
    with open(name, "rb") as file:
        data = file.read()
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass


def blocked(port):
    import h2.config
    import h2.connection
    import h2.events

    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="latin-1"))
    connection.initiate_connection()
    lock, statuses, ended = threading.Lock(), {}, threading.Semaphore(0)
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(connection.data_to_send())

    def read():
        while data := s.recv(65536):
            with lock:
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        statuses[event.stream_id] = dict(event.headers)[":status"]
                    if isinstance(event, (h2.events.StreamEnded, h2.events.RemoteSettingsChanged,
                                          h2.events.SettingsAcknowledged)):
                        ended.release()
                if answer := connection.data_to_send():
                    s.sendall(answer)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for _ in range(2):  # both SETTINGS: nothing comes by itself after them
        ended.acquire()
    for stream in (1, 3):
        # proc(5): the number of the system call that the thread waits in; 45 is recvfrom.
        while open(f"/proc/self/task/{reader.native_id}/syscall").read().split()[0] != "45":
            os.sched_yield()
        with lock:
            connection.send_headers(stream, [(":method", "GET"), (":path", "/hello"), (":scheme", "http"),
                                             (":authority", f"127.0.0.1:{port}")], end_stream=True)
            s.sendall(connection.data_to_send())
        ended.acquire()
    print(*statuses.values())


def halves(port):
    import h2.config
    import h2.connection
    import h2.events

    failed, size, whole = 0, 0, False
    # As many each time: the date in an answer is a byte longer or shorter.
    while size < CONNECTIONS:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="latin-1"))
        connection.initiate_connection()
        statuses, ended = {}, set()

        def take(data):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    statuses[event.stream_id] = dict(event.headers)[":status"]
                elif isinstance(event, h2.events.StreamEnded):
                    ended.add(event.stream_id)

        def ask(stream, path):
            connection.send_headers(stream, [(":method", "GET"), (":path", path), (":scheme", "http"),
                                             (":authority", f"127.0.0.1:{port}")], end_stream=True)
            s.sendall(connection.data_to_send())

        size += 1
        with socket.create_connection(("127.0.0.1", port)) as s:
            ask(1, "/hello")
            left = size
            while left and 1 not in ended:
                data = s.recv(left)
                left -= len(data)
                take(data)
            whole = 1 in ended
            ask(3, "/none")
            while ended != {1, 3}:
                take(s.recv(65536))
            print(statuses[1], statuses[3])
            failed += list(statuses.values()).count("503")
    assert whole, "an answer has more bytes than there are connections"
    print("failed", failed)


if __name__ == "__main__":
    mode, port = sys.argv[1], int(sys.argv[2])
    if mode == "serve":
        Server(("127.0.0.1", port), Recorder).serve_forever()
    elif mode == "send":
        send(port, sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 1 << 20)
    else:
        {"blocked": blocked, "halves": halves}[mode](port)
