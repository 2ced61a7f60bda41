"""A caller that looks at the status of an answer and never at its body; and what varies by itself is no reason to begin an
interrupted exploration anew."""
import json

import pytest

from conftest import PYTHON
from small_apps import config, held, probe, url
from test_resumed import HELD, interrupt

# Answers the n-th request for a path as the n-th word of the file `answers` says, and the last word from then on:
# "200" whole, "200-head" without a body, which comes to nobody; "200-large" with a body that no socket holds; "200-bare"
# whole, with a body that only the end of the connection ends, and "200-bare-head" without it.
BACK = r'''
import collections, http.server, sys
asked = collections.Counter()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        words = open("answers").read().split()
        word = words[min(asked[self.path], len(words) - 1)]
        asked[self.path] += 1
        status, _, form = word.partition("-")
        size = 64 << 20 if form == "large" else 4
        head = f"HTTP/1.1 {status} Said\r\nContent-Length: {size}\r\n\r\n".encode()
        if form.startswith("bare"):
            head = f"HTTP/1.0 {status} Said\r\n\r\n".encode()
            self.close_connection = True
        try:
            if form.endswith("head"):
                self.wfile.write(head)
                self.connection.recv(1)  # until its caller leaves
            else:
                self.wfile.write(head + b"x" * size)
        except OSError:
            self.close_connection = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
# Answers 200, whatever the statuses of its calls are.
FRONT = r'''
import http.server, sys, urllib.error, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        for path in sys.argv[3:]:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}{path}", timeout=5).status
            except urllib.error.HTTPError as error:
                error.code
            except OSError:
                pass
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def application(project, answers, front=FRONT, command=f"{PYTHON} front.py", paths="/one /two", test=probe(url("front")), **members):
    project.write("back.py", BACK)
    project.write("front.py", front)
    project.write("answers", answers)
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {PYTHON} back.py ${{port:back}}"},
         {"name": "front", "command": f"exec {command} ${{port:front}} ${{port:back}} {paths}"}],
        [test], snapshots=False, **members))


# --- how a call ends ----------------------------------------------------------------------------

ASKS = r'''
import http.server, sys, asyncio, socket
def asks(port):
ASK
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        status = asks(sys.argv[2])
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
URLLIB = "    import urllib.request\n    return urllib.request.urlopen(f'http://127.0.0.1:{port}/one', timeout=5).status\n"
AIOHTTP = '''    import aiohttp
    async def ask():
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/one") as answer:
                return answer.status
    return asyncio.run(ask())
'''
# It waits for the body, until its own limit: by a receive, by poll, in an event loop.
BLOCKING = '''    import struct
    s = socket.create_connection(("127.0.0.1", int(port)))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 300_000))
    s.sendall(b"GET /one HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    assert s.recv(65536).endswith(b"\\r\\n\\r\\n")
    try: s.recv(65536)
    except BlockingIOError: pass
    s.close()
    return 200
'''
POLL = BLOCKING.replace("    s.setsockopt", "    #").replace('    assert', '    s.settimeout(0.3)\n    assert').replace("BlockingIOError", "TimeoutError")
LOOP = AIOHTTP.replace("return answer.status", '''
                try: await asyncio.wait_for(answer.read(), 0.3)
                except asyncio.TimeoutError: pass
                return answer.status''')
NODE = r'''
const http = require('http');
const [port, back] = process.argv.slice(2).map(Number);
http.createServer((req, res) => {
  http.get({port: back, host: '127.0.0.1', path: '/one'}, (answer) => {
    LEAVE
  });
}).listen(port, '127.0.0.1');
'''
AT_ONCE = "answer.destroy(); res.end();"
# What it has not taken from the socket is still there when it leaves.
LATER = "answer.pause(); setTimeout(() => { answer.destroy(); res.end(); }, 100);"


@pytest.mark.parametrize("command, front, answers, outcome", [
    (f"{PYTHON} front.py", ASKS.replace("ASK", URLLIB), "200-head", "not-read"),
    (f"{PYTHON} front.py", ASKS.replace("ASK", AIOHTTP), "200-head", "not-read"),
    ("node front.py", NODE.replace("LEAVE", AT_ONCE), "200-head", "not-read"),
    ("node front.py", NODE.replace("LEAVE", LATER), "200-large", "not-read"),
    (f"{PYTHON} front.py", ASKS.replace("ASK", BLOCKING), "200-head", "timed-out"),
    (f"{PYTHON} front.py", ASKS.replace("ASK", POLL), "200-head", "timed-out"),
    (f"{PYTHON} front.py", ASKS.replace("ASK", LOOP), "200-head", "timed-out"),
], ids=["urllib", "aiohttp", "node", "node-paused", "receive", "poll", "loop"])
def test_an_answer_that_is_left_is_told_from_one_that_is_waited_for(project, command, front, answers, outcome):
    application(project, answers, front, command, "", faults=[{"inject": []}], bounds={"reference_executions": 1})
    run = project.filibuster("run")
    (call,) = [rpc for rpc in run.test["reference"] if rpc["service"] == "back"]
    assert (call["outcome"], call["begun"], call["status"]) == (outcome, 200, 200 if outcome == "not-read" else 0), call
    assert run.test["counts"]["executed"] == 1, run


# How much of such a body comes along with the head is chance, and who does not read on to its end has not asked for it.
@pytest.mark.parametrize("asks, answers, outcome", [
    (URLLIB, "200-bare", "not-read"),
    (URLLIB, "200-bare-head", "not-read"),
    (URLLIB.replace("\n    return ", "\n    answer = ").replace(".status", "; answer.read(); return answer.status"), "200-bare", "answered"),
    (LOOP, "200-bare", "answered"),
], ids=["status", "status-first", "body", "aiohttp"])
def test_an_answer_that_ends_with_its_connection_is_read_by_whom_sees_that_end(project, asks, answers, outcome):
    application(project, answers, ASKS.replace("ASK", asks), paths="", faults=[{"inject": []}], bounds={"reference_executions": 1})
    run = project.filibuster("run")
    (call,) = [rpc for rpc in run.test["reference"] if rpc["service"] == "back"]
    assert (call["outcome"], call["status"]) == (outcome, 200), call
    assert call["response"] == ("xxxx" if outcome == "answered" else ""), call


def test_it_varies_whether_an_answer_is_read_and_only_the_status_counts(project):
    application(project, "200 200-head 200", paths="/one", faults=[{"inject": [503]}])
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    (varied,) = run.report["tests"][0]["nondeterminism"]["varied"]
    assert varied["what"] == "whether its answer is read" and "by its status alone" in varied["effect"], varied


# --- and of an interrupted exploration ----------------------------------------------------------

def goes_on(project, answers, then):
    """The run of an exploration that was interrupted while the services answered so, and continued while they answer otherwise."""
    application(project, answers, faults=[{"inject": [500, 503]}], test=held(probe(url("front")), HELD))
    interrupt(project)
    project.write("answers", then)
    return project.filibuster("run", "--no-reduction")


@pytest.mark.parametrize("answers, then", [
    ("200 200-head 200", "200-head"),  # the run has said so
    ("200", "200-head"),               # it has not, and an answer that is not read cannot be compared
    ("200 503 200", "503"),            # another status
])
def test_what_varies_is_no_reason_to_begin_anew(project, answers, then):
    run = goes_on(project, answers, then)
    assert "continuing 'probe'" in run.errors and "anew" not in run.errors, run
    assert run.exit_code == 0 and run.test["finished"], run


def test_another_status_that_nobody_has_seen_to_vary_is_one(project):
    run = goes_on(project, "200", "503-head")
    assert "begins anew: front -> back GET /one ends with status:503" in run.errors, run
    assert run.test["finished"], run
    assert json.dumps(run.test["reference"]).count('"not-read"') == 2, run
