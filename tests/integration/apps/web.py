"""A Flask service: `web.py PORT`, or `gunicorn web:app`.

For each URL in the environment variable CALLS it GETs URL + path of the request + "/" + n, with the client that
the query names (?by=...), and answers what it was sent and what came back.
"""
import asyncio
import hashlib
import http.client
import os
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

import flask
import requests

app = flask.Flask("web")


def by_http_client(url):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    connection.request("GET", parts.path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["SOCKET"])


def by_unix(url):
    connection = UnixConnection("localhost")
    connection.request("GET", urllib.parse.urlsplit(url).path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def by_fork(url):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, by_http_client(url).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def by_asyncio(url):
    async def get():
        parts = urllib.parse.urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")[2].decode()
    return asyncio.run(get())


CLIENTS = {
    "http.client": by_http_client,
    "requests": lambda url: requests.get(url, timeout=20).text,
    "urllib": lambda url: urllib.request.urlopen(url, timeout=20).read().decode(),
    "curl": lambda url: subprocess.run(["curl", "-s", url], capture_output=True, text=True).stdout,
    "asyncio": by_asyncio, "fork": by_fork, "unix": by_unix,
}


@app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
@app.route("/<path:path>", methods=["GET", "POST"])
def answer(path):
    body = flask.request.get_data()
    by = flask.request.args.get("by", "http.client")
    urls = [f"{url}/{path}/{n}" for n, url in enumerate(os.environ.get("CALLS", "").split())]
    if by == "session":
        with requests.Session() as session:
            answers = [session.get(url, timeout=20).text for url in urls]
    else:
        answers = [CLIENTS[by](url) for url in urls]
    return flask.jsonify(method=flask.request.method, path=path, length=len(body),
                         digest=hashlib.sha1(body).hexdigest(), answers=answers)


if __name__ == "__main__":
    import werkzeug.serving
    werkzeug.serving.WSGIRequestHandler.protocol_version = "HTTP/1.1"
    app.run("127.0.0.1", int(sys.argv[1]), threaded=True)
