"""A client whose requests are sent by one thread and whose answers are read by another, the event loop, as the JDK's HttpClient has it:
reading_loop.py PORT ATTEMPTS. It tries until it is answered, and prints how many attempts it made, and what it has read."""
import selectors
import socket
import sys
import threading

PATIENCE = 0.2  # seconds
loop = selectors.DefaultSelector()
came = {}
wake, woken = socket.socketpair()
loop.register(woken, selectors.EVENT_READ)


def read_on():
    while True:
        for key, _ in loop.select():
            if key.fileobj is woken:
                woken.recv(64)
                continue
            try:
                data = key.fileobj.recv(65536)
            except BlockingIOError:
                continue
            said, whole = came[key.fileobj]
            said += data
            if not data or said.endswith(b"done"):
                loop.unregister(key.fileobj)
                whole.set()


threading.Thread(target=read_on, daemon=True).start()
read = b""
for attempt in range(1, int(sys.argv[2]) + 1):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
        peer.setblocking(False)
        whole = threading.Event()
        came[peer] = bytearray(), whole
        loop.register(peer, selectors.EVENT_READ)
        wake.send(b"!")
        peer.sendall(b"GET /ok HTTP/1.1\r\nHost: shop\r\n\r\n")
        answered = whole.wait(PATIENCE)
        if not answered:
            loop.unregister(peer)
        read += bytes(came.pop(peer)[0])
    if answered:
        break
print(attempt, read.decode("latin-1")[:12] or "nothing")
