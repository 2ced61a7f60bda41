"""A service that passes each connection on to one of two workers, which multiprocessing has started: handoff.py PORT CALL METHOD.

A worker makes no socket before it has read the request."""
import multiprocessing
import socket
import sys
import urllib.error
import urllib.request
from multiprocessing import reduction


def work(pipe, call):
    while True:
        with socket.socket(fileno=reduction.recv_handle(pipe)) as connection:
            connection.recv(4096)
            try:
                with urllib.request.urlopen(call, timeout=1) as answer:
                    answer.read()
                status = b"200 OK"
            except (OSError, ValueError):
                status = b"503 No"
            connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok" % status)


def main():
    multiprocessing.set_start_method(sys.argv[3])
    workers = []
    for _ in range(2):
        own, others = multiprocessing.Pipe()
        process = multiprocessing.Process(target=work, args=(others, sys.argv[2]), daemon=True)
        process.start()
        workers.append((own, process.pid))
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    turn = 0
    while True:
        connection, _ = listener.accept()
        with connection:
            if not connection.recv(1, socket.MSG_PEEK):  # somebody asks whether the port is open
                continue
            pipe, pid = workers[turn % len(workers)]
            turn += 1
            reduction.send_handle(pipe, connection.fileno(), pid)


if __name__ == "__main__":
    main()
