"""The test of the matrix: clients.py NUMBER ROUNDS URL. NUMBER processes, each GETs URL/<id> ROUNDS times on one
connection, all at once, and expects 200. No id comes twice."""
import http.client
import os
import sys
import urllib.parse

number, rounds, parts = int(sys.argv[1]), int(sys.argv[2]), urllib.parse.urlsplit(sys.argv[3])
go, release = os.pipe()
children = []
for n in range(number):
    child = os.fork()
    if child == 0:
        os.close(release)
        os.read(go, 1)  # until all are there
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        good = True
        for r in range(rounds):
            connection.request("GET", f"/{n}-{r}")
            response = connection.getresponse()
            response.read()
            good = good and response.status == 200
        os._exit(0 if good else 1)
    children.append(child)
os.close(release)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
