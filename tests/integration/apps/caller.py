"""Makes one request with one library and prints what it saw: 'status S, BODY, Retry-After R', or 'refused',
'reset', 'timeout' by errno, and the class of the exception.

caller.py LIBRARY URL [SOCKET]: with `reused` the request is the second of its connection, with `two` the host name has
the addresses ::1 and 127.0.0.1; SOCKET is a Unix socket's path.
"""
import asyncio
import errno
import http.client
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

SECONDS = 0.5
library, url = sys.argv[1:3]
parts = urllib.parse.urlsplit(url)


def by_requests():
    import requests
    response = requests.get(url, timeout=SECONDS)
    return response.status_code, response.text, response.headers.get("Retry-After")


def by_urllib():
    try:
        response = urllib.request.urlopen(url, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, response.read().decode(), response.headers.get("Retry-After")


def one(connection, path):
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read().decode(), response.headers.get("Retry-After")


def by_reused():
    connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
    assert one(connection, "/first")[0] == 200
    return one(connection, parts.path)


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(sys.argv[3])


def by_two_addresses():
    def both(host, port, *rest, **more):
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    socket.getaddrinfo = both  # whatever /etc/hosts says here
    return one(http.client.HTTPConnection(parts.netloc, timeout=SECONDS), parts.path)


async def streams():
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {parts.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    return int(head.split()[1]), body, fields.get("Retry-After")


async def in_time():
    return await asyncio.wait_for(streams(), SECONDS)


LIBRARIES = {
    "requests": by_requests, "urllib": by_urllib, "reused": by_reused, "two": by_two_addresses,
    "http.client": lambda: one(http.client.HTTPConnection(parts.netloc, timeout=SECONDS), parts.path),
    "unix": lambda: one(UnixConnection("localhost"), parts.path),
    "asyncio": lambda: asyncio.run(in_time()),
}
NAMES = {errno.ECONNREFUSED: "refused", errno.ECONNRESET: "reset"}


def chain(error):
    while error is not None:
        yield error
        inner = getattr(error, "reason", None)
        error = inner if isinstance(inner, BaseException) else error.__cause__ or error.__context__


try:
    print("status %d, %s, Retry-After %s" % LIBRARIES[library]())
except Exception as error:  # the class is what the test is about
    seen = [NAMES[each.errno] for each in chain(error) if getattr(each, "errno", None) in NAMES]
    if not seen and any("imeout" in type(each).__name__ for each in chain(error)):
        seen = ["timeout"]
    print(f"{seen[0] if seen else repr(error)} {type(error).__name__}")
