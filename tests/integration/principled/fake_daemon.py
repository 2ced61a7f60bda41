"""A daemon that says what its script says, in the words of the blocks API, and keeps what it was told."""
import http.server
import json
import socket
import threading

TOKEN = "t0ken"


class FakeDaemon:
    """`script` is what each post of a helper is answered with, in order: an instruction, a pair of a status and a text for an error,
    or "gone" for a connection that is closed without an answer. A post that is no result of an instruction is answered with {}, or as
    `beside` says by its name: ("suspend", ...)."""

    def __init__(self, script, token=TOKEN, beside=()):
        self.posts, self.beside, self.script, self.token = [], [], list(script), token
        self.answer_beside = dict(beside)
        daemon = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                daemon.answer(self)

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.environment = {"FILIBUSTER_URL": f"http://127.0.0.1:{self.server.server_address[1]}", "FILIBUSTER_TOKEN": TOKEN,
                            "FILIBUSTER_LANE": "0", "FILIBUSTER_BLOCKS": "1"}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        answer = self.choose(request, body)
        if answer == "gone":
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        status, said = answer if isinstance(answer, tuple) else (200, answer)
        text = json.dumps(said if status == 200 else {"errors": [{"message": said}]}).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def choose(self, request, body):
        if request.path != "/v1/blocks" or request.headers["Authorization"] != "Bearer " + self.token:
            return 401, "the token is wrong"
        if "suspend" in body or "group" in body:
            self.beside.append((len(self.posts), body))
            return self.answer_beside.get(next(iter(body)), {})
        self.posts.append(body)
        return self.script.pop(0) if self.script else (409, "nothing is left of the script")

    def ran(self, block):
        """The results of this block, in order."""
        return [post["ran"] for post in self.posts if post.get("ran", {}).get("block") == block]


def begin(number, name):
    return {"do": "begin", "execution": number, "name": name}


def end(number, text=""):
    """`text`: why it failed."""
    return {"do": "end", "execution": number, "passed": not text, "kind": "failed-rpc" if text else "", "text": text}


def run(*blocks):
    return [{"do": "run", "block": block} for block in blocks]


def closure(block, number):
    return {"do": "run", "block": block, "specification": number}


def finish(text=""):
    return {"do": "finish", "passed": not text, "text": text}
