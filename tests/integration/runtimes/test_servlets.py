"""Servlet containers: which incoming request causes a call, whichever thread of the container's pool serves it.

tests/programs/servlets/Servlets.java runs in Jetty, whose threads take turns in waiting for all connections and serve what
they find, and in Tomcat, which has one that waits. The path repeats which request a call belongs to.
"""
import collections
import re

import pytest

import pairs
from conftest import BUILD, PYTHON, Project
from rpc_tree import observe
from small_apps import config, probe, relay, url
from test_jvm import JAVA, NUMBERS, path_of, rounds, users

# Calls that one request makes.
CALLS = {"blocking": 1, "two": 2, "body": 1, "lent": 1, "queued": 2, "started": 1, "again": 2}
SERVERS = ["jetty", "tomcat"]

# Answers after what the work of a service takes, so that requests overlap.
LEAF = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.005)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def servlets(server, background="5", flags=""):
    classpath = (BUILD / "tests/servlets/classpath").read_text().strip()
    return {"name": "users",
            "command": f"exec {JAVA} {flags} -cp '{classpath}' Servlets {server} ${{port:users}} {url('leaf', '')} {background}"}


def leaf(project):
    project.write("leaf.py", LEAF)
    return {"name": "leaf", "command": f"exec {PYTHON} leaf.py ${{port:leaf}}"}


def attributions(run):
    """{kind: {number: Counter of 'right', 'unknown', 'wrong'}}, background callers aside."""
    rpcs = [rpc for rpc in run.test["reference"] if not rpc["path"].startswith("/background")]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    result = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for rpc in rpcs:
        if rpc["caller"] != "users":
            continue
        kind, name = path_of(rpc)
        above = by_index.get(rpc["parent"])
        verdict = "unknown" if above is None else "right" if path_of(above) == (kind, name) else "wrong"
        result[kind][int(name.split("-")[1])][verdict] += 1
    return result


@pytest.fixture(scope="module", params=SERVERS)
def matrix(request, tmp_path_factory):
    project = Project(tmp_path_factory.mktemp(request.param))
    yield observe(project, [leaf(project), servlets(request.param)], rounds(CALLS, NUMBERS), complete=False)
    project.end()


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("number", NUMBERS)
def test_every_call_has_the_request_that_caused_it(matrix, kind, number):
    """With a task of the server's own pool that calls every 5 ms."""
    assert attributions(matrix)[kind][number] == {"right": CALLS[kind] * number}


def test_causes_are_those_of_tasks_however_the_threads_take_turns(matrix):
    # (What was sent before the execution began, and came after that, is nobody's: an entry.)
    program = [rpc for rpc in matrix.test["reference"] if rpc["caller"] == "users" and rpc["stack"]]
    assert {rpc["cause"] for rpc in program if not rpc["path"].startswith("/background")} == {"task"}
    assert {(rpc["cause"], rpc["parent"]) for rpc in program if rpc["path"].startswith("/background")} == {("none", "")}


# Two requests in one write, then both answers.
PIPELINED = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"".join(b"GET /two/two-2-%d HTTP/1.1\\r\\nHost: users\\r\\n%s\\r\\n" % (i, end)
                            for i, end in enumerate([b"", b"Connection: close\\r\\n"])))
received = b"".join(iter(lambda: connection.recv(65536), b""))
print(received.count(b"HTTP/1.1 200"))
"""


@pairs.only("server", ["jetty", "the JDK's"])
@pytest.mark.parametrize("server", [*SERVERS, "the JDK's"])
def test_requests_that_are_read_together_are_not_taken_for_each_other(project, server):
    project.write("pipelined.py", PIPELINED)
    service = users(background="0") if server == "the JDK's" else servlets(server, background="0")
    services = [service] if server == "the JDK's" else [leaf(project), service]
    run = observe(project, services, f"exec {PYTHON} pipelined.py ${{port:users}} > printed", complete=False)
    assert (project.directory / "printed").read_text() == "2\n"
    found = attributions(run)["two"][2]
    assert found["wrong"] == 0 and found.total() == 4, found


@pairs.only("server", ["jetty"])
@pytest.mark.parametrize("server", SERVERS)
def test_callers_without_an_agent_and_a_machine_that_checks_what_we_do(project, server):
    flags = "-XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal -Xcheck:jni"
    kinds = ["blocking", "lent", "started", "again"]
    run = observe(project, [leaf(project), servlets(server, flags=flags)],
                  rounds(kinds, [8]).replace("exec", "exec env -u LD_PRELOAD", 1), complete=False)
    found = attributions(run)
    assert {kind: dict(found[kind][8]) for kind in kinds} == {kind: {"right": 8 * CALLS[kind]} for kind in kinds}
    log = "".join(path.read_text() for path in sorted((project.root / "logs").glob("users*")))
    assert "serving" in log and not re.search("in native method|VerifyError|ilibuster", log), log


# Requests that overlap are told apart in the tests above.
@pytest.mark.whole
@pytest.mark.parametrize("server", SERVERS)
def test_a_caller_that_came_again_beside_a_silence_bars_no_call_site(project, server):
    """Each fault of the servlet's one call is met, before and after the execution in which two requests were open."""
    faults = ["status:500", "status:502", "timeout", "status:503", "status:504"]
    project.write("filibuster.json", config(
        [leaf(project), servlets(server, background="0"),
         relay("front", url("users", "/blocking/blocking-1-0"), options="--timeout 0.5 --again")],
        [probe(url("front"), expected="200,503")], default_faults=False,
        faults=[{"on": {"service": "leaf"}, "inject": faults}], bounds={"max_faults": 1, "hang_limit": 2}))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 1 + len(faults), run
