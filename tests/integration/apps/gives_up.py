"""A client that gives up, while the handler goes on and another request is open: gives_up.py WEB GATE [sees].

Its request /slowN (N: the number of the execution) is given up when WEB has called GATE (gate.py) for it. WEB goes on with it when
its request /otherN is open. `sees`: WEB closes its side, too, when its client has gone, and that is waited for.
"""
import http.client
import os
import socket
import sys

web, gate = sys.argv[1], sys.argv[2]
number = os.environ["FILIBUSTER_EXECUTION"]
slow, other = f"/slow{number}", f"/other{number}"


def ask(address, path):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", path)
    return connection


def get(path):
    connection = ask(gate, path)
    assert connection.getresponse().status == 200, path
    connection.close()


given_up = ask(web, slow)
get(f"/came{slow}/0")
if "sees" in sys.argv:
    given_up.sock.shutdown(socket.SHUT_WR)
    assert given_up.sock.recv(1) == b""
given_up.close()
patient = ask(web, other)
get(f"/came{other}/0")
get(f"/go{slow}/0")
get(f"/came{slow}/1")  # the handler has gone on
get(f"/go{other}/0")
assert patient.getresponse().status == 200
