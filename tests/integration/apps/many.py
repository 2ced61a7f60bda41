"""A functional test: GETs URL + /0, URL + /1, ... all at once, each from a process of its own, and expects 200.

many.py NUMBER URL
"""
import os
import sys
import urllib.request

number, url = int(sys.argv[1]), sys.argv[2]
children = []
go, release = os.pipe()
for n in range(number):
    child = os.fork()
    if child == 0:
        os.close(release)
        os.read(go, 1)  # until all are there
        with urllib.request.urlopen(f"{url}/{n}", timeout=60) as response:
            os._exit(0 if response.status == 200 else 1)
    children.append(child)
os.close(release)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
