"""Services that make calls in ways that `filibuster lint` is about.

patterns.py PORT store                answers /users/7, /lists/7 and /movies/ANY
patterns.py PORT PATTERN URL [URL]    answers / by calls of the pattern to the service(s) at URL
"""
import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse

port, pattern, *urls = sys.argv[1:]


def get(url, path, timeout=1.0):
    """The decoded answer; raises OSError where there is none, or a status of 500 and above."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        if response.status >= 500:
            raise OSError(f"status {response.status}")
        return json.loads(body)
    finally:
        connection.close()


def once():
    return get(urls[0], "/users/7")


def twice():
    first = get(urls[0], "/users/7")
    return first | get(urls[0], "/users/7")


def through():
    """Asks for what the service at the second URL asks for, too."""
    get(urls[1], "/")
    return get(urls[0], "/users/7")


def chain():
    user = get(urls[0], "/users/7")
    return {"title": get(urls[0], f"/movies/{user['favourite']}")["title"]}


def aggregate():
    """As chain, but what the first answer says is shown too."""
    user = get(urls[0], "/users/7")
    return {"of": user["name"], "title": get(urls[0], f"/movies/{user['favourite']}")["title"]}


def each():
    return [get(urls[0], f"/movies/{movie}")["title"] for movie in get(urls[0], "/lists/7")["movies"]]


def patient():
    return get(urls[0], "/users/7", timeout=None)


def retried(wait):
    for attempt in range(4):
        try:
            return get(urls[0], "/users/7")
        except (OSError, http.client.HTTPException):
            time.sleep(wait * 2 ** attempt)
    return get(urls[0], "/users/7")


def fallback():
    """The second URL stands in for the first, and nobody gave that call a timeout."""
    try:
        return get(urls[0], "/users/7")
    except (OSError, http.client.HTTPException):
        return get(urls[1], "/users/7", timeout=None)


beats, beaten = 0, threading.Condition()


def two_beats():
    """Of the thread below: one of them begins and ends while this request is open."""
    with beaten:
        until = beats + 2
        beaten.wait_for(lambda: beats >= until)
    return {}


PATTERNS = {"once": once, "twice": twice, "through": through, "chain": chain, "aggregate": aggregate, "each": each,
            "patient": patient, "fallback": fallback, "background": two_beats,
            "eager": lambda: retried(0), "backoff": lambda: retried(0.02)}
STORE = {"/users/7": {"favourite": "movie-267e", "name": "Chris"},
         "/lists/7": {"movies": ["movie-267e", "movie-7daf", "movie-39ab"]}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        status = 200
        try:
            answer = STORE.get(self.path, {"title": "Creed"}) if pattern == "store" else PATTERNS[pattern]()
        except (OSError, http.client.HTTPException) as error:
            status, answer = 503, {"error": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def beat():
    global beats
    while True:
        get(urls[0], "/movies/background")
        with beaten:
            beats += 1
            beaten.notify_all()
        time.sleep(0.005)


http.server.ThreadingHTTPServer.daemon_threads = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
if pattern == "background":
    get(urls[0], "/movies/background")  # seen before any request is
    threading.Thread(target=beat, daemon=True).start()
server.serve_forever()
