"""The primary, which takes all writes: PUT /keys/KEY with {"value": VALUE} gives 204 when the replica has it, too.

BUG=roll-back: a copy without an answer counts as one that was not made, so the primary takes the write back, and answers 503: the
write was not done.
"""
import os
import threading
import urllib.parse

from serving import NoAnswer, Peer, serve

BUG = os.environ.get("BUG", "")
TRIES = 25  # more than the faults of a program

replica = Peer(os.environ["REPLICA_URL"])
lock = threading.Lock()
data = {}  # {key: (version, value)}
newest = 0  # version


def next_version():
    """With the lock."""
    global newest
    newest += 1
    return newest


def tell(path, value):
    """Whether the replica has done this: True, False, or None if nobody knows. An answer that was lost is asked for again, since the
    replica does nothing twice."""
    sent = False
    for _ in range(1 if BUG == "roll-back" else TRIES):
        try:
            if replica.post(path, value) == 204:
                return True
            sent = True  # whoever answered another status may have done it
        except NoAnswer as error:
            sent = sent or error.sent
    return None if sent and BUG != "roll-back" else False


def put(key, value):
    with lock:
        before = data.get(key)
        written = data[key] = next_version(), value
    done = tell("/copy", {"key": key, "value": value, "version": written[0]})
    if done:
        return 204, None
    if done is None:  # the write stays: the replica may have it
        return 500, {"error": "the replica did not say whether it has the copy"}
    with lock:
        if data[key] is written:
            data.pop(key) if before is None else data.update({key: before})
    return 503, {"error": "the replica has no copy"}


def reset():
    with lock:
        data.clear()
        version = next_version()
    return (204, None) if tell("/reset", {"version": version}) else (500, None)


def answer(method, path, value):
    if method == "PUT" and path.startswith("/keys/"):
        return put(urllib.parse.unquote(path[len("/keys/"):]), value["value"])
    if method == "POST" and path == "/reset":
        return reset()
    if method == "GET" and path.startswith("/keys/"):  # for whoever compares the two
        with lock:
            found = data.get(urllib.parse.unquote(path[len("/keys/"):]))
        return (404, None) if found is None else (200, {"value": found[1]})
    return 404, None


if __name__ == "__main__":
    serve(answer)
