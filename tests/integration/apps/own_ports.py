"""own_ports.py NUMBER: a test that listens at a new port NUMBER times, and asks there in the same moment."""
import socket
import sys

for _ in range(int(sys.argv[1])):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"GET /own HTTP/1.1\r\nHost: own\r\n\r\n")
        with server.accept()[0] as accepted:
            accepted.recv(4096)
            accepted.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 204"), "the answer has come"
