"""Executions that are forked from one start of the test, by a child for each or by two that are reset in turn
(daemon/lane/test_starter.h): they show what plain starts show, or the test is started each time, and the report says why."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

import pairs
from conftest import PYTHON, wait_until
from processes import at_work_in
from small_apps import config, probe, relay, url

# Each asks FRONT, expects 200 or 503, prints the status, and exits with 3 otherwise.
TESTS = {
    "python": ("test.py", f"exec {PYTHON} test.py", """
import os, sys, urllib.error, urllib.request
try:
    status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
except urllib.error.HTTPError as error:
    status = error.code
print(status)
sys.exit(0 if status in (200, 503) else 3)
"""),
    "asyncio": ("test.py", f"exec {PYTHON} test.py", """
import asyncio, os, sys, urllib.parse
async def main():
    parts = urllib.parse.urlsplit(os.environ["FRONT"])
    reader, writer = await asyncio.open_connection("localhost", parts.port, family=2)
    writer.write(b"GET / HTTP/1.1\\r\\nHost: front\\r\\nConnection: close\\r\\n\\r\\n")
    status = int((await reader.read()).split()[1])
    print(status)
    return 0 if status in (200, 503) else 3
sys.exit(asyncio.run(main()))
"""),
    "threads": ("test.py", f"exec {PYTHON} test.py", """
import concurrent.futures, os, sys, urllib.error, urllib.request
def get():
    try:
        return urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    status = pool.submit(get).result()
print(status)
sys.exit(0 if status in (200, 503) else 3)
"""),
    "pytest": ("test_front.py", f"exec {PYTHON} -m pytest -q -p no:cacheprovider test_front.py", """
import os, urllib.error, urllib.request
def test_front():
    print("asking")
    try:
        status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
    except urllib.error.HTTPError as error:
        status = error.code
    assert status in (200, 503)
"""),
    "unittest": ("test_front.py", f"exec {PYTHON} -m unittest test_front", """
import os, unittest, urllib.error, urllib.request
class Front(unittest.TestCase):
    def test_front(self):
        try:
            status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
        except urllib.error.HTTPError as error:
            status = error.code
        self.assertIn(status, (200, 503))
"""),
    "ruby": ("test.rb", "exec ruby test.rb", """
require "net/http"
status = Net::HTTP.get_response(URI(ENV["FRONT"])).code
puts status
exit(["200", "503"].include?(status) ? 0 : 3)
"""),
    "perl": ("test.pl", "exec perl test.pl", """
use HTTP::Tiny;
my $status = HTTP::Tiny->new->get($ENV{FRONT})->{status};
print "$status\\n";
exit($status == 200 || $status == 503 ? 0 : 3);
"""),
    "php": ("test.php", "exec php test.php", """<?php
$call = curl_init(getenv("FRONT"));
curl_setopt($call, CURLOPT_RETURNTRANSFER, true);
curl_exec($call);
$status = curl_getinfo($call, CURLINFO_HTTP_CODE);
echo $status, "\\n";
exit(in_array($status, [200, 503]) ? 0 : 3);
"""),
    "gtest": ("test.cc", "exec ./test", """
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <string>
TEST(Front, Answers) {
  const std::string url = std::getenv("FRONT");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::atoi(url.c_str() + url.rfind(':') + 1));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string request = "GET / HTTP/1.1\\r\\nHost: front\\r\\nConnection: close\\r\\n\\r\\n";
  ASSERT_EQ(send(fd, request.data(), request.size(), 0), ssize_t(request.size()));
  std::string answer;
  char bytes[4096];
  for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;) answer.append(bytes, n);
  close(fd);
  const std::string status = answer.substr(9, 3);
  EXPECT_TRUE(status == "200" || status == "503") << answer;
}
"""),
    "node": ("test.mjs", "exec node test.mjs", """
const answer = await fetch(process.env.FRONT);
console.log(answer.status);
process.exit([200, 503].includes(answer.status) ? 0 : 3);
"""),
}
AHEAD = ("node",)
# Ruby keeps time by a timer of timer_create(2), and PHP closes the libraries of its extensions before it ends.
FORKED = {"ruby": "timer_create", "php": "a mapping of a file is gone"}
# Python has joined a thread when its lock is free, which it is a moment before the thread has ended.
EITHER = ("threads",)


def application(test, options="--tolerate 1", inject=("503", "reset"), **members):
    services = [relay("a"), relay("b"), relay("front", "a", "b", options=f"--timeout 0 --on-failure answer500 {options}")]
    return config(services, [{"name": "front", "env": {"FRONT": url("front")}, **test}],
                  faults=[{"on": {"caller": "front"}, "inject": list(inject)}], **members)


def shown(run):
    """What a user learns, without what differs from run to run."""
    test = run.test
    return (run.exit_code, test["counts"], test["finished"],
            sorted((case["name"], case["state"], case["redundant"]) for case in test["cases"]),
            sorted(sorted(fault["fault"] for fault in finding["faults"]) for finding in test["findings"]))


def both(project, test, **members):
    """The run with snapshots, after one without them that shows the same."""
    project.write("filibuster.json", application(test, **members))
    plain = project.filibuster("run", "--no-snapshot", "--restart-session")
    assert plain.test["start"]["way"] == "plain", plain
    expected = shown(plain)  # (the next run writes the same report)
    forked = project.filibuster("run", "--snapshot", "--restart-session")
    assert shown(forked) == expected, forked
    return forked


def python(project, source):
    project.write("test.py", "import os, sys, urllib.error, urllib.request\n" + source)
    return {"command": f"exec {PYTHON} test.py"}


ASK = """
def ask(more=""):
    try:
        return urllib.request.urlopen(os.environ["FRONT"] + more, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
"""


# One of each runtime: asyncio, threads, pytest and unittest are one Python.
@pairs.only("language", ["threads", "ruby", "perl", "php", "gtest", "node"])
@pytest.mark.parametrize("language", TESTS)
def test_a_forked_test_shows_what_a_plain_start_shows(project, language):
    name, command, source = TESTS[language]
    path = project.write(name, source.lstrip())
    if language == "gtest":
        subprocess.run(["g++", "-g1", "-o", path.with_suffix(""), path, "-lgtest", "-lgtest_main"], check=True)
    run = both(project, {"command": command}, inject=["503"])
    start = run.test["start"]
    if language in EITHER:
        assert start["way"] in ("reset", "forked"), run
    else:
        assert start["way"] == ("ahead" if language in AHEAD else "forked" if language in FORKED else "reset"), run
        assert FORKED.get(language, "") in start["why_not_reset"], run
    # `front` tolerates one failing call, and answers 500 to two.
    assert run.exit_code == 1 and run.test["findings"], run
    if start["way"] != "reset":
        return
    expected = shown(run)  # (the next run writes the same report)
    forked = project.filibuster("run", "--snapshot", "--no-reset", "--restart-session")
    assert forked.test["start"]["way"] == "forked" and shown(forked) == expected, forked


@pytest.mark.alone  # beside others, the first call of a small program may come late enough for a fork to pay
def test_the_first_calls_of_a_test_that_starts_in_no_time_are_not_worth_it(project):
    project.write("filibuster.json", application(probe(url("front"), expected="200,500"), inject=("503", "reset", "status:500")))
    run = project.filibuster("run")
    assert run.test["start"]["way"] == "plain" and "ms" in run.test["start"]["why_not_forked"], run


def test_executions_that_are_few_at_first_are_forked_once_there_are_more(project):
    """Four are to be run after the reference execution. Each of them shows a second call, of which four more come."""
    (name, command, source), services = TESTS["python"], [relay("back"), relay("front", "back", options="--again --timeout 0")]
    project.write(name, source.lstrip())
    project.write("filibuster.json", config(services, [{"name": "front", "env": {"FRONT": url("front")}, "command": command}],
                                            faults=[{"on": {"caller": "front"}, "inject": ["503", "reset", "status:500", "status:502"]}]))
    plain = project.filibuster("run", "--no-snapshot", "--restart-session")
    expected = shown(plain)  # (the next run writes the same report)
    run = project.filibuster("run", "--restart-session")
    assert run.test["start"] == {"way": "reset", "why_not_forked": "", "why_not_reset": ""}, run
    assert shown(run) == expected and run.test["counts"]["executed"] > 6, run


# --- what a test may do before its first call ------------------------------------------------------------

# Each way of starting stays, and of the reasons for a plain start two.
@pairs.only("id", ["pid", "file", "thread", "child", "memory"])
@pytest.mark.parametrize("before, way, why", [
    ("import time, random, tempfile; drawn = (time.time(), random.random(), tempfile.mkdtemp(dir='.'))", "reset", ""),
    ("drawn = os.getpid()", "reset", ""),
    ("file = open('written', 'w'); file.write('x')", "plain", "open for writing"),
    ("import fcntl; lock = open('held', 'r'); fcntl.lockf(lock, fcntl.LOCK_SH)", "plain", "holds a lock"),
    # The thread is started in each child, and is there still at its end.
    ("import threading; e = threading.Event(); threading.Thread(target=e.wait, daemon=True).start()", "forked", ""),
    ("import socket; s = socket.create_server(('127.0.0.1', 0))", "plain", "listens on"),
    ("import subprocess; child = subprocess.Popen(['sleep', '60'])", "plain", "started other processes"),
    ("import mmap; shared = mmap.mmap(-1, 4096)", "ahead", "shares memory"),
    ("import signal; signal.setitimer(signal.ITIMER_REAL, 300)", "reset", ""),
    ("import socket; s = socket.socket(); s.settimeout(5); s.setsockopt(socket.SOL_TCP, socket.TCP_NODELAY, 1)", "reset", ""),
], ids=["clock", "pid", "file", "lock", "thread", "listener", "child", "memory", "timer", "socket"])
def test_what_a_test_does_before_its_first_call(project, before, way, why):
    (project.directory / "held").write_text("")
    end = "\nimport atexit\nif 'child' in globals(): atexit.register(child.kill)\n" if "child" in before else ""
    run = both(project, python(project, f"{before}\n{end}{ASK}\nsys.exit(0 if ask() in (200, 503) else 3)\n"), inject=["503"])
    assert run.test["start"]["way"] == way and why in run.test["start"]["why_not_forked"], run
    line = "\n".join(line for line in run.output.splitlines() if "the test is not forked" in line)
    assert (line == "") == (way in ("reset", "forked")) and why in line and (line == "" or "after the first call" in line), run
    assert run.test["counts"]["abandoned"] == 0, run


def test_a_name_that_is_used_up_is_noticed(project):
    # `front` answers each name once, as a database with a unique key does.
    source = f"""
import uuid
name = str(uuid.uuid4())
{ASK}
used = set(open("used").read().split()) if os.path.exists("used") else set()
first = ask()
with open("used", "a") as file:
    again = name in open("used").read().split()
    file.write(name + "\\n")
sys.exit(4 if again else 0 if first in (200, 503) else 3)
"""
    run = both(project, python(project, source))
    # Each process that is started ahead draws its own name.
    assert run.test["start"]["way"] == "ahead" and "differs from a plain start" in run.test["start"]["why_not_forked"], run


def test_the_child_has_what_a_fresh_start_has(project):
    """Its own log, exit handlers, buffers, signals, process group; the socket with its options."""
    source = f"""
import atexit, http.client, signal, socket
atexit.register(lambda: open("handlers", "a").write("handler\\n"))
print("printed before", flush=True)
sys.stdout.write("buffered before\\n")
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.sock.setsockopt(socket.SOL_TCP, socket.TCP_NODELAY, 1)
        self.sock.settimeout(30)
        self.sock.connect((self.host, self.port))
from urllib.parse import urlsplit
connection = Connection("127.0.0.1", urlsplit(os.environ["FRONT"]).port)
connection.request("GET", "/")
assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
assert connection.sock.getsockopt(socket.SOL_TCP, socket.TCP_NODELAY) == 1
assert connection.sock.gettimeout() == 30
assert os.getpgid(0) == os.getpid()
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
status = connection.getresponse().status
left_open = open("written", "a")
left_open.write("line\\n")
print("printed after")
sys.exit(0 if status == 200 else 7)
"""
    run = both(project, python(project, source))
    assert run.test["start"]["way"] == "reset", run
    finding = run.test["findings"][0]
    text = str(finding)
    assert "exit status 7" in text and text.count("printed before") == text.count("buffered before") >= 1, run
    assert "printed after" in text
    # Plain executions, and forked ones: each of them has run its handler, and written its line.
    lines = (project.directory / "written").read_text().splitlines()
    assert len(lines) == len((project.directory / "handlers").read_text().splitlines())
    assert len(lines) >= 2 * run.executed


# A signal takes no time; tests that hang are in test_results.py.
@pairs.only("detail", ["SIGSEGV"])
@pytest.mark.parametrize("end, detail", [("os.kill(os.getpid(), 11)", "SIGSEGV"), ("import time; time.sleep(300)", "does not end")])
def test_a_test_that_is_killed_by_a_signal_or_hangs(project, end, detail):
    test = python(project, f"{ASK}\nif ask() != 200:\n    {end}\n") | {"timeout": "3s"}
    run = both(project, test, inject=["503"])
    # A child that ends so is not reset, and the others are.
    assert run.test["start"]["way"] == "reset", run
    assert detail in run.output, run
    wait_until(lambda: not at_work_in(project.directory), "all that the run has started has ended")


def test_predicates_answer_for_the_execution_that_runs(project):
    predicates = pathlib.Path(__file__).resolve().parents[2] / "cli" / "python"
    source = f"""
sys.path.insert(0, {str(predicates)!r})
import filibuster_predicates
{ASK}
status = ask()
injected = filibuster_predicates.was_fault_injected()
sys.exit(0 if injected == (status != 200) else 3)
"""
    run = both(project, python(project, source), options="", inject=["503"])
    assert run.test["start"]["way"] == "reset" and run.exit_code == 0, run


def test_a_shell_test_whose_call_is_in_a_child_is_plain(project):
    name, _, source = TESTS["python"]
    project.write(name, source)
    run = both(project, {"command": f"{PYTHON} test.py; exit $?"})
    assert run.test["start"]["way"] == "plain" and "another process" in run.test["start"]["why_not_forked"], run
    (line,) = [line for line in run.output.splitlines() if "the test is not forked" in line]
    assert "python3" in line and "`exec` before it" in line, run


# The plain form is the usual one.
@pairs.only("id", ["plain"])
@pytest.mark.parametrize("command", [f"{PYTHON} test.py", f"FRONT='{url('front')}' A=1 {PYTHON} \"test.py\""], ids=["plain", "assigned"])
def test_a_plain_command_is_forked_without_exec(project, command):
    name, _, source = TESTS["python"]
    project.write(name, source)
    run = both(project, {"command": command}, inject=["503"])
    assert run.test["start"]["way"] == "reset" and "not forked" not in run.output, run


@pytest.mark.whole
@pytest.mark.parametrize("language", TESTS)
def test_a_thousand_executions_are_the_same(project, language):
    name, command, source = TESTS[language]
    path = project.write(name, source.lstrip())
    if language == "gtest":
        subprocess.run(["g++", "-g1", "-o", path.with_suffix(""), path, "-lgtest", "-lgtest_main"], check=True)
    inject = [f"status:{status}" for status in range(400, 430)] + ["503"]
    services = [relay("a"), relay("b"), relay("front", "a", "b", options="--tolerate 2 --timeout 0")]
    project.write("filibuster.json", config(services, [{"name": "front", "env": {"FRONT": url("front")}, "command": command}],
                                            faults=[{"on": {"caller": "front"}, "inject": inject}]))
    plain = project.filibuster("run", "--no-snapshot", "--no-reduction", "--restart-session", timeout=1200)
    assert plain.executed > 1000, plain
    expected = shown(plain)
    assert shown(project.filibuster("run", "--snapshot", "--no-reduction", "--restart-session", timeout=1200)) == expected


def test_nothing_of_a_snapshot_is_left_of_a_killed_daemon(project):
    # One that is started plainly does not wait: it belongs to no snapshot.
    test = python(project, f"{ASK}\nimport time\nbegan = os.getpid()\nstatus = ask()\n"
                           "while os.getpid() != began and os.path.exists('hold') and os.path.exists('faults'): time.sleep(0.01)\n"
                           "sys.exit(0 if status in (200, 500) else 3)\n")
    project.write("filibuster.json", application(test))
    project.write("hold", "")
    process = project.start("run", "--snapshot", "--json")
    for line in process.stdout:
        if json.loads(line)["type"] == "execution":
            break
    (project.directory / "faults").write_text("")
    tests = [f"{PYTHON}\0test.py\0"]
    wait_until(lambda: sum(line in tests for line in at_work_in(project.directory)) >= 2, "a forked test waits")
    os.kill(project.daemon()["pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(lambda: not any(line in tests for line in at_work_in(project.directory)), "the snapshot and its test end")
    (project.directory / "hold").unlink()
    assert project.filibuster("run").test["finished"]


# --- services that are started ahead ------------------------------------------------------------------------

# Answers how often this process was asked, and who it is. The state of a start is 1.
COUNTING = """
import http.server, os, sys
if len(sys.argv) > 2: state = open(sys.argv[2], "a")
class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Handler.count += 1
        body = f"{Handler.count}".encode()
        self.send_response(200 if Handler.count == 1 else 500); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
print("started", os.getpid(), flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


# One that is started ahead, and one that is not.
@pairs.only("id", ["ahead", "file"])
@pytest.mark.parametrize("command, ahead", [
    (f"exec {PYTHON} counting.py ${{port:back}}", True),
    (f"{PYTHON} counting.py ${{port:back}}; exit $?", False),           # another process binds the port
    (f"exec {PYTHON} counting.py ${{port:back}} state", False),         # two of it cannot write one file
], ids=["ahead", "shell", "file"])
def test_a_service_that_is_restarted_for_each_execution_is_started_ahead(project, command, ahead):
    project.write("counting.py", COUNTING)
    back = {"name": "back", "command": command, "restart": "each", "ready": "tcp"}
    made = config([back, relay("front", "back")], [probe(url("front"), expected="200,503", python=True)],
                  faults=[{"on": {"caller": "front"}, "inject": [f"status:{status}" for status in range(500, 508)]}])
    project.write("filibuster.json", made)
    run = project.filibuster("run", "--json")
    events = [json.loads(line) for line in run.output.splitlines()]
    assert run.exit_code == 0 and run.executed == 9, run
    refused = [event["detail"] for event in events if event["type"] == "service" and "not started ahead" in event["detail"]]
    assert bool(refused) == (not ahead), refused
    # Each process serves one execution, and its log is there.
    log = (project.root / "logs" / "back-0.log").read_text().splitlines()
    pids = [line.split()[1] for line in log if line.startswith("started ")]
    ready = [event["pid"] for event in events if event["type"] == "service" and event["name"] == "back" and event["state"] == "ready"]
    assert len(set(pids)) == len(pids) == len(ready) >= run.executed, (pids, ready)
