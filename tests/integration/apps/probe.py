"""A functional test: GETs each URL and expects one of the statuses.

probe.py [--meet LANES] STATUS[,STATUS...] URL...

--meet LANES: an execution whose requests saw a fault waits until one of each lane has come so far. So each lane runs one.
"""
import http.client
import os
import pathlib
import sys
import time
import urllib.parse

meet = 0
if sys.argv[1] == "--meet":
    meet = int(sys.argv[2])
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "cli" / "python"))
    import filibuster_predicates
    del sys.argv[1:3]
expected = {int(status) for status in sys.argv[1].split(",")}
failed = ""
for url in sys.argv[2:]:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
    response = connection.getresponse()
    print(f"{url}: {response.status} {response.read()!r}")
    if response.status not in expected:
        failed = f"expected one of {sorted(expected)}, got {response.status}"
        break
if meet and filibuster_predicates.was_fault_injected():
    pathlib.Path(f"met-{os.environ['FILIBUSTER_LANE']}").touch()
    end = time.monotonic() + 60
    while len(list(pathlib.Path().glob("met-*"))) < meet and time.monotonic() < end:
        time.sleep(0.005)
sys.exit(failed or 0)
