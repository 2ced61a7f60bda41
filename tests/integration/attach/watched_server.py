"""watched_server.py PORT: an HTTP server that reads and writes by many calls of the kernel. The path is /HOW/ANSWER: how the request
behind this one is read, and how this one is answered: with the port of its client, with more (large, chunked), or by the end of the
connection (silent)."""
import os
import socket
import sys
import tempfile
import threading

LARGE, CHUNK = 1 << 20, 20_000


def read(connection, how):
    if how == "recv":
        return connection.recv(4096)
    if how == "recvmsg":
        first, rest = bytearray(5), bytearray(4091)
        size = connection.recvmsg_into([first, rest])[0]
        return bytes(first + rest)[:size]
    if how == "readv":
        first, rest = bytearray(7), bytearray(4089)
        size = os.readv(connection.fileno(), [first, rest])
        return bytes(first + rest)[:size]
    return os.read(connection.fileno(), 4096)


def write(connection, how, peer):
    body = b"x" * LARGE if how == "large" else peer
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    if how == "gathered":
        connection.sendmsg([head[:9], head[9:], body])
    elif how == "file":
        connection.sendall(head)
        with tempfile.TemporaryFile() as file:
            file.write(body)
            file.flush()
            os.sendfile(connection.fileno(), file.fileno(), 0, len(body))
    elif how == "chunked":
        chunk = b"%x\r\n%b\r\n" % (CHUNK, b"y" * CHUNK)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk + b"0\r\n\r\n")
    else:
        connection.sendall(head + body)


def serve(connection, peer):
    bytes_read, how = b"", "recv"
    while True:
        while b"\r\n\r\n" not in bytes_read:
            more = read(connection, how)
            if not more:
                return connection.close()
            bytes_read += more
        head, _, bytes_read = bytes_read.partition(b"\r\n\r\n")
        _, how, answer = head.split()[1].decode().rsplit("/", 2)
        if answer == "silent":
            return connection.close()
        write(connection, answer, peer)


with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    while True:
        accepted, address = listener.accept()
        threading.Thread(target=serve, args=(accepted, str(address[1]).encode()), daemon=True).start()
