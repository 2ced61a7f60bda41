"""The replica, which answers all reads: GET /keys/KEY gives {"value": VALUE}, or 404. POST /copy takes {"key", "value", "version"}
from the primary, and POST /reset {"version"}.

A copy may come twice, late, or behind a newer one. It is taken if it is newer than what is there.
"""
import threading
import urllib.parse

from serving import serve

lock = threading.Lock()
data = {}  # {key: (version, value)}
emptied = 0  # the version of the last reset


def take(copy):
    key, version = copy["key"], copy["version"]
    with lock:
        if version > data.get(key, (emptied, None))[0]:
            data[key] = version, copy["value"]


def reset(version):
    global emptied
    with lock:
        emptied = max(emptied, version)
        for key in [key for key, (written, _) in data.items() if written < version]:
            del data[key]


def answer(method, path, value):
    if method == "POST" and path == "/copy":
        take(value)
        return 204, None
    if method == "POST" and path == "/reset":
        reset(value["version"])
        return 204, None
    if method == "GET" and path.startswith("/keys/"):
        with lock:
            found = data.get(urllib.parse.unquote(path[len("/keys/"):]))
        return (404, None) if found is None else (200, {"value": found[1]})
    return 404, None


if __name__ == "__main__":
    serve(answer)
