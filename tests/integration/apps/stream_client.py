"""A test that streams: stream_client.py URL FIFO PIECE... POSTs the pieces as chunks, each after FIFO told that what
the one before caused is done: so the stream is open all that time. Expects 200, or 503."""
import http.client
import sys
import urllib.parse

url, fifo = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2]


def pieces():
    first, *others = sys.argv[3:]
    yield first.encode()
    with open(fifo, "rb", buffering=0) as done:
        for piece in others:
            assert done.read(1) == b"."
            yield piece.encode()
        assert done.read(1) == b"."


connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
connection.request("POST", url.path, pieces(), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
response = connection.getresponse()
response.read()
assert response.status in (200, 503), response.status
