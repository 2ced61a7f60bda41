"""What a client of Redis sees, byte by byte, with a real server: the reply of a fault in its place and every other reply as
the server gave it, whatever way its commands were written. (Real client libraries: test_cache_aside.py.)"""
import json
import shutil

import pytest

import certificates
import pairs
from conftest import PYTHON
from small_apps import config, printed, printing, url

FRONT = '''
import http.server, json, os, socket, ssl, sys, threading
class Closed(Exception):
    pass
class Redis:
    """One connection, without a library: send() and reply() in any order."""
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=TIMEOUT)
        if "TLS" in os.environ:
            self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname="localhost")
        self.bytes = b""
    def send(self, *words, split=0):
        data = b"".join(encoded(command) for command in ([words] if isinstance(words[0], str) else words))
        if not split:
            return self.socket.sendall(data)
        for at in range(0, len(data), split):
            self.socket.sendall(data[at:at + split])
    def line(self):
        while b"\\r\\n" not in self.bytes:
            self.more()
        line, self.bytes = self.bytes.split(b"\\r\\n", 1)
        return line.decode()
    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise Closed("closed")
        self.bytes += got
    def reply(self):
        line = self.line()
        if line[0] in "*~>%":
            return [self.reply() for _ in range(max(0, int(line[1:])) * (2 if line[0] == "%" else 1))] if line[1:] != "-1" else line
        if line[0] != "$" or line == "$-1":
            return line
        size = int(line[1:])
        while len(self.bytes) < size + 2:
            self.more()
        text, self.bytes = self.bytes[:size], self.bytes[size + 2:]
        return text.decode() if size < 100 else size
    def replies(self, count):
        return [self.reply() for _ in range(count)]
    def ask(self, *words):
        self.send(*words)
        return self.reply()
def encoded(words):
    words = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(word), word) for word in words)
def told(step):
    try:
        return step()
    except Exception as error:
        return type(error).__name__
TIMEOUT = 0.5
SCENARIO
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = json.dumps(scenario(Redis) if self.path == "/" else {}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
RULE = "cache"
CLEAR = "--port ${port:cache}"
encrypted = {}  # the environment of services that encrypt


@pytest.fixture(autouse=True, params=["clear", "tls"])
def transport(request):
    encrypted.clear()
    if request.param == "tls":
        folder = request.getfixturevalue("tls")
        encrypted.update(certificates.trusted(folder), TLS=str(folder))


def reset_error():
    """Python's ssl takes a reset for an end, also that of a real server (CPython 3.11)."""
    return "Closed" if encrypted else "ConnectionResetError"


def listens():
    if not encrypted:
        return CLEAR
    return "--port 0 --tls-port ${port:cache} --tls-auth-clients no --tls-cert-file $TLS/cert.pem --tls-key-file $TLS/key.pem --tls-ca-cert-file $TLS/ca.pem"


def explore(project, scenario, faults, server=None, references=1, **members):
    """The run, and what the scenario told in each execution. Each begins with an empty server."""
    if server is None and shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    if server and encrypted:
        pytest.skip("a server of the test's own speaks in the clear: the same bytes are tested there")
    command = server or f"exec redis-server {listens()} --bind 127.0.0.1 --save '' --appendonly no"
    project.write("front.py", FRONT.replace("SCENARIO", scenario))
    project.write("empty.py", "import os, socket, ssl, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                              "s = ssl.create_default_context().wrap_socket(s, server_hostname='localhost') if 'TLS' in os.environ else s\n"
                              "s.sendall(b'*1\\r\\n$8\\r\\nFLUSHALL\\r\\n')\nassert s.recv(100) == b'+OK\\r\\n'\n")
    empty = "" if server else f"{PYTHON} empty.py ${{port:cache}}; "
    bounds = {"reference_executions": references, **members.pop("bounds", {})}
    test = {"name": "probe", "command": printing(f"{empty}curl -s {url('front')}; echo"), "env": encrypted}
    project.write("filibuster.json", config(
        [{"name": "cache", "command": command, "protocol": "redis", "env": encrypted},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:cache}}", "env": encrypted, "ready": {"http": "/health"}}],
        [test], faults=faults, default_faults=False, bounds=bounds, **members))
    run = project.filibuster("run")
    return run, [json.loads(text) for text in printed(run)]


def at(method, *inject, **on):
    return {"on": {"service": RULE, "method": method, **on}, "inject": list(inject)}


def rpcs(run):
    return [(rpc["method"], rpc["path"]) for rpc in run.test["reference"] if rpc["service"] == "cache" and rpc["caller"] == "front"]


PIPELINE = '''
def scenario(Redis):
    r = Redis()
    r.send(("SET", "a", "1"), ("INCR", "a"), ("GET", "a"), ("INCR", "a"), ("GET", "a")%s)
    seen = r.replies(5)
    return seen + [r.ask("GET", "a")]
'''


# The tables of this file have each test once, and by turns in the clear and over TLS.
@pairs.each("transport, split", [("clear", ""), ("tls", ", split=1"), ("clear", ", split=40")])
@pytest.mark.parametrize("split", ["", ", split=1", ", split=40"])
def test_a_reply_of_ours_stands_in_its_place_of_a_pipeline(project, split):
    run, seen = explore(project, PIPELINE % split, [at("INCR", "redis:OOM")])
    assert run.exit_code == 0 and not run.test["skipped"], run
    assert rpcs(run) == [("SET", "a"), ("INCR", "a"), ("GET", "a"), ("INCR", "a"), ("GET", "a"), ("GET", "a")]
    oom = "-OOM command not allowed when used memory > 'maxmemory'."
    assert sorted(map(json.dumps, seen)) == sorted(map(json.dumps, [
        ["+OK", ":2", "2", ":3", "3", "3"],
        ["+OK", oom, "1", ":2", "2", "2"],
        ["+OK", ":2", "2", oom, "2", "2"],
        ["+OK", oom, "1", oom, "1", "1"]])), run


@pairs.only("transport", ["tls"])
def test_the_codes_of_a_call_stand_in_the_report(project):
    run, _ = explore(project, "def scenario(Redis):\n    r = Redis()\n    return [r.ask('SET', 'a', 'text'), r.ask('INCR', 'a')]\n",
                     [at("SET", {"redis": "READONLY", "message": "not here"})])
    first, second = [rpc for rpc in run.test["reference"] if rpc["service"] == "cache" and rpc["caller"] == "front"]
    assert (first["protocol"], first["code"], first["code_space"]) == ("redis", "", ""), first
    assert (second["protocol"], second["code"], second["code_space"]) == ("redis", "ERR", "redis"), second
    assert run.executed == 2, run


@pairs.each("transport, null", [("clear", "$-1"), ("tls", "_")])
@pytest.mark.parametrize("hello, null", [("", "$-1"), ("r.ask('HELLO', '3'); ", "_"),
                                         ("r.ask('HELLO', '3'); r.ask('HELLO'); ", "_")])
def test_a_null_has_the_form_of_its_protocol(project, hello, null):
    run, seen = explore(project, f"def scenario(Redis):\n    r = Redis(); r.ask('SET', 'k', 'v'); {hello}"
                                 "return [r.ask('GET', 'k'), r.ask('GET', 'other')]\n", [at("GET", "redis:nil", path="k")])
    assert seen == [["v", null], [null, null]], run
    assert ("HELLO", "") not in rpcs(run), run  # the library's own


TRANSACTION = '''
def scenario(Redis):
    r = Redis()
    r.send(("MULTI",), ("SET", "user:7", "x"), ("INCR", "visits"), ("EXEC",))
    seen = r.replies(4)
    return seen + [r.ask("GET", "visits")]
'''


@pairs.only("transport", ["clear"])
def test_a_transaction_is_one_call(project):
    run, seen = explore(project, TRANSACTION, [at("MULTI", "redis:READONLY", "redis:nil")])
    assert run.exit_code == 0 and not run.test["skipped"], run
    assert rpcs(run) == [("MULTI", "SET user:*, INCR visits"), ("GET", "visits")], run
    readonly = "-READONLY You can't write against a read only replica."
    aborted = "-EXECABORT Transaction discarded because of previous errors."
    assert sorted(map(json.dumps, seen)) == sorted(map(json.dumps, [
        ["+OK", "+QUEUED", "+QUEUED", ["+OK", ":1"], "1"],
        ["+OK", readonly, readonly, aborted, "$-1"],
        ["+OK", "+QUEUED", "+QUEUED", "*-1", "$-1"]])), run


@pairs.only("transport", ["tls"])
def test_a_transaction_that_was_begun_is_not_faulted_and_that_is_said(project):
    run, seen = explore(project, '''
def scenario(Redis):
    r = Redis()
    return [r.ask("MULTI"), r.ask("INCR", "n"), r.ask("EXEC"), r.ask("GET", "n")]
''', [at("MULTI", "redis:OOM")])
    assert rpcs(run) == [("MULTI", "INCR n"), ("GET", "n")], run
    assert seen[0] == ["+OK", "+QUEUED", [":1"], "1"], run
    assert run.exit_code == 3 and "a part of it had been sent" in run.output, run


ENDS = '''
def scenario(Redis):
    r = Redis()
    r.ask("SET", "n", "0")
    return [told(lambda: r.ask("INCR", "n")), Redis().ask("GET", "n")]
'''


@pairs.each("transport, fault", [("clear", "reset"), ("tls", "reset:after"), ("tls", "timeout"), ("clear", "timeout:after")])
@pytest.mark.parametrize("fault, seen", [
    ("reset", ["RESET", "0"]), ("reset:after", ["RESET", "1"]),
    ("timeout", ["TimeoutError", "0"]), ("timeout:after", ["TimeoutError", "1"])])
def test_a_connection_that_ends_has_had_its_effect_or_not(project, fault, seen):
    run, told = explore(project, ENDS, [at("INCR", fault)])
    assert told == [[":1", "1"], [reset_error() if word == "RESET" else word for word in seen]], run
    assert run.exit_code == 0 and not run.test["skipped"], run


@pairs.each("transport, fault", [("tls", "reset"), ("clear", "timeout")])
@pytest.mark.parametrize("fault", ["reset", "timeout"])
def test_what_is_pipelined_behind_a_connection_that_ends_is_no_call(project, fault):
    run, seen = explore(project, '''
def scenario(Redis):
    r = Redis()
    r.send(("GET", "a"), ("GET", "b"))
    return [told(r.reply), told(r.reply)]
''', [at("GET", fault, "redis:LOADING")])
    assert run.exit_code == 0 and not run.test["skipped"], run
    loading, ends = "-LOADING Redis is loading the dataset in memory", {"reset": reset_error(), "timeout": "TimeoutError"}[fault]
    expected = {("$-1", "$-1"), ("$-1", loading), ("$-1", ends), (loading, "$-1"), (loading, loading), (loading, ends)}
    assert expected < {tuple(pair) for pair in seen} and run.executed == 7, run
    (rest,) = {tuple(pair) for pair in seen} - expected
    assert rest[0] == ends, run


@pairs.only("transport", ["clear"])
def test_a_client_that_gives_a_command_up_and_keeps_its_connection_has_a_timeout(project):
    run, seen = explore(project, '''
kept = []
def scenario(Redis):
    kept.append(Redis())
    return told(lambda: kept[-1].ask("GET", "a"))
''', [at("GET", "timeout")], fast_timeouts=False)  # as where the client's wait is not seen
    assert seen == ["$-1", "TimeoutError"], run
    assert run.exit_code == 0 and not run.test["findings"] and not run.test["skipped"], run
    (waited,) = run.test["timeouts"]
    assert waited["waited"] == 1 and waited["hang_limit"] == 0, run


@pairs.only("transport", ["tls"])
def test_a_connect_is_refused_where_the_command_is(project):
    run, seen = explore(project, '''
def scenario(Redis):
    return [told(lambda: Redis().ask("SET", "n", "0")), told(lambda: Redis().ask("GET", "n"))]
''', [at("GET", "refused")])
    assert seen == [["+OK", "0"], ["+OK", "ConnectionRefusedError"]], run
    assert run.exit_code == 0, run


@pairs.only("transport", ["clear"])
def test_what_waits_and_what_subscribes_passes_and_is_listed(project):
    run, seen = explore(project, '''
def scenario(Redis):
    r, other = Redis(), Redis()
    r.send("SUBSCRIBE", "news")
    seen = [r.reply(), other.ask("PUBLISH", "news", "hello"), r.reply()]
    other.send(("LPUSH", "queue", "job"), ("BLPOP", "queue", "0"), ("GET", "queue"))
    return seen + other.replies(3)
''', [at("GET", "redis:LOADING")])
    assert seen == [[["subscribe", "news", ":1"], ":1", ["message", "news", "hello"], ":1", ["queue", "job"], end]
                    for end in ("$-1", "-LOADING Redis is loading the dataset in memory")], run
    reasons = {row["reason"] for row in run.test["dependencies_not_tested"] if row["service"] == "front"}
    assert reasons == {"redis-publish-subscribe", "redis-blocking-command"}, run


@pairs.only("transport", ["tls"])
def test_arguments_that_vary_can_be_left_out(project):
    scenario = '''
import time
def scenario(Redis):
    r = Redis()
    return [r.ask("SET", "at", str(time.time_ns())), r.ask("GET", "n")]
'''
    run, _ = explore(project, scenario, [at("SET", "redis:OOM")],
                     nondeterminism=[{"on": {"service": "cache", "method": "SET"}, "mask": {"json": ["/2"]}}])
    assert run.exit_code == 0 and run.executed == 2, run


@pairs.only("transport", ["clear"])
def test_arguments_that_vary_are_proposed_to_be_left_out(project):
    run, _ = explore(project, '''
import time
def scenario(Redis):
    return Redis().ask("SET", "at", str(time.time_ns()))
''', [at("SET", "redis:OOM")], references=2)
    assert '"/2"' in run.output or '"/2"' in json.dumps(run.report), run


LARGE = '''
def scenario(Redis):
    r = Redis()
    return [r.ask("SET", "big", "x" * 300_000), r.ask("GET", "big"), r.ask("GET", "small")]
'''


@pairs.only("transport", ["tls"])
def test_what_is_larger_than_we_keep_passes(project):
    run, seen = explore(project, LARGE, [at("SET", "redis:OOM"), at("GET", "redis:LOADING", path="small")])
    assert seen[0] == ["+OK", 300_000, "$-1"], run
    assert ["+OK", 300_000, "-LOADING Redis is loading the dataset in memory"] in seen, run


BAD_SERVER = '''
import socketserver, sys
WHAT = ANSWER
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            for _ in range(4):
                self.rfile.readline()
            for piece in WHAT:
                self.wfile.write(piece)
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
BAD = {
    "nested": "[b'*1\\r\\n' * 1_000_000, b':1\\r\\n']",
    "garbage": "[bytes(range(128, 256)) * 40]",
    "another protocol": "[b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n']",
    "a bulk of a gigabyte": "[b'$1073741824\\r\\n', *[bytes(1 << 20)] * 1024, b'\\r\\n']",
    "two replies": "[b'+OK\\r\\n+OK\\r\\n']",
}


@pytest.mark.parametrize("what", BAD)
def test_bad_replies_pass_and_are_listed(project, what):
    project.write("server.py", BAD_SERVER.replace("ANSWER", BAD[what]))
    scenario = '''
import hashlib
def scenario(Redis):
    r, digest, size = Redis(), hashlib.sha256(), 0
    r.socket.settimeout(TIMEOUT if size else 5)
    r.send("GET", "key")
    wanted = sum(map(len, WHAT))
    while size < wanted:
        got = r.socket.recv(1 << 20)
        digest.update(got); size += len(got)
    return digest.hexdigest() == hashlib.sha256(b"".join(WHAT)).hexdigest() if wanted < 1 << 24 else size == wanted
'''.replace("WHAT", f"({BAD[what]})")
    run, seen = explore(project, scenario, [], server=f"exec {PYTHON} server.py ${{port:cache}}")
    assert set(seen) == {True}, run
    listed = {row["reason"] for row in run.test["dependencies_not_tested"] if row["service"] == "front"}
    assert listed == ({"unknown-protocol"} if what in ("nested", "garbage", "another protocol") else
                      {"mid-stream"} if what == "two replies" else set()), run


@pairs.only("transport", ["clear"])
def test_inline_commands_and_a_switch_of_protocol_pass(project):
    run, seen = explore(project, '''
def scenario(Redis):
    r = Redis()
    r.ask("SET", "k", "v")
    r.socket.sendall(b"GET k\\r\\n")
    seen = [r.reply()]
    r.socket.sendall(b"\\x16\\x03\\x01 is no command\\r\\n")
    return seen + [r.reply()[:4]]
''', [at("GET", "redis:LOADING")])
    assert seen[0] == ["v", "-ERR"], run
    assert ["-LOADING Redis is loading the dataset in memory", "-ERR"] in seen, run


@pairs.only("transport", ["tls"])
def test_a_redis_that_is_not_declared_passes_and_is_listed(project):
    if shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project.write("front.py", FRONT.replace("SCENARIO", "def scenario(Redis): return Redis().ask('GET', 'k')"))
    project.write("filibuster.json", config(
        [{"name": "cache", "command": "exec redis-server --port ${port:cache} --bind 127.0.0.1 --save ''"},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:cache}}", "ready": {"http": "/health"}}],
        [{"name": "probe", "command": f"curl -sf {url('front')}"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and run.executed == 1, run  # there is nothing else to test
    (row,) = [row for row in run.test["dependencies_not_tested"] if row["outgoing"]]
    assert (row["target_service"], row["reason"]) == ("cache", "redis"), row
    assert '"protocol": "redis"' in run.output, run


# --- late replies (and what clients make of them: test_late_replies.py) ----------------------------

@pairs.only("transport", ["clear"])
def test_a_late_reply_keeps_its_place_and_the_connection_goes_on(project):
    run, seen = explore(project, '''
def scenario(Redis):
    r = Redis()
    r.send(("SET", "a", "1"), ("GET", "a"), ("INCR", "a"), ("GET", "a"))
    first = r.replies(4)
    r.send(("MULTI",), ("INCR", "a"), ("GET", "a"), ("EXEC",))
    return [first, r.replies(4), r.ask("GET", "a")]
''', [at("GET", "latency:20ms"), at("MULTI", "latency:20ms")], bounds={"max_faults": 1})
    assert run.executed == 5 and run.exit_code == 0, run
    assert [row["reason"] for row in run.test["skipped"]] == ["bound max_faults 1"], run
    (only,) = {json.dumps(row) for row in seen}
    assert json.loads(only) == [["+OK", "1", ":2", "2"], ["+OK", "+QUEUED", "+QUEUED", [":3", "3"]], "3"], run


@pairs.only("transport", ["tls"])
def test_a_late_reply_comes_also_to_a_client_that_has_given_it_up(project):
    run, seen = explore(project, '''
kept = []
def scenario(Redis):
    r = Redis(); kept.append(r)
    r.socket.settimeout(0.1)
    first = told(lambda: r.ask("GET", "a"))
    r.socket.settimeout(30)
    return [first, r.ask("SET", "a", "1") if first == "$-1" else r.reply()]
''', [at("GET", "latency:400ms")])
    assert seen == [["$-1", "+OK"], ["TimeoutError", "$-1"]], run
    assert run.exit_code == 0 and not run.test["skipped"], run


@pairs.only("transport", ["clear"])
def test_two_faults_on_one_connection_of_which_the_first_is_late(project):
    run, seen = explore(project, '''
def scenario(Redis):
    r = Redis()
    return [r.ask("GET", "a"), told(lambda: r.ask("GET", "b"))]
''', [at("GET", "latency:20ms", path="a"), at("GET", "latency:20ms", "redis:LOADING", "reset", path="b")])
    assert run.executed == (8 if not encrypted else 5), run
    assert {second for _, second in seen} == {"$-1", "-LOADING Redis is loading the dataset in memory", reset_error()}, run
    why = [row["reason"] for row in run.test["skipped"]]
    assert len(why) == (0 if not encrypted else 3) and all("the connection was replaced by an earlier fault" in text for text in why), run
