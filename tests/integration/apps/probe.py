"""A functional test: GETs each URL and expects one of the statuses.

probe.py STATUS[,STATUS...] URL...
"""
import http.client
import sys
import urllib.parse

expected = {int(status) for status in sys.argv[1].split(",")}
for url in sys.argv[2:]:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
    response = connection.getresponse()
    print(f"{url}: {response.status} {response.read()!r}")
    if response.status not in expected:
        sys.exit(f"expected one of {sorted(expected)}, got {response.status}")
