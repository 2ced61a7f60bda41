"""CPython's helper: what a task, a thread, a pool works for; however the program was started."""
import subprocess

import pytest

import matrix
import pairs
from conftest import PYTHON
from rpc_tree import observe
from small_apps import APPS, probe, relay, url

STREAMS = f"{APPS}/streams.py ${{port:web}} {url('back', '')} {url('back', '')}"
MANY = f"exec {PYTHON} {APPS}/many.py 4 {url('web', '')}"


def attributed(run, caller="web"):
    """(caller's path, cause, path of the parent)"""
    by_index = {rpc["index"]: rpc for rpc in run.test["reference"]}
    return sorted((rpc["path"], rpc["cause"], by_index[rpc["parent"]]["path"] if rpc["parent"] else "")
                  for rpc in run.test["reference"] if rpc["caller"] == caller)


def start(project, command, members=None, **env):
    return observe(project, [relay("back"), {"name": "web", "command": command, **({"env": env} if env else {})}],
                   MANY, complete=False, **(members or {}))


def assert_all_by_task(run):
    assert attributed(run) == sorted((f"/{n}/{call}", "task", f"/{n}") for n in range(4) for call in (0, 1))


# --- however the program was started -------------------------------------------------------------------

# One without its environment stays, and one without its site as well.
@pairs.only("options", ["-I", "-I -S -B"])
@pytest.mark.parametrize("options", ["-I", "-E", "-S", "-I -S -B", "-X dev", "-X frozen_modules=off"])
def test_options_of_the_interpreter_hide_nothing(project, options):
    assert_all_by_task(start(project, f"exec {PYTHON} {options} {STREAMS}"))


def test_a_virtual_environment_hides_nothing(project):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(project.directory / "venv")], check=True)
    assert_all_by_task(start(project, f"exec venv/bin/python {STREAMS}"))


def test_a_sitecustomize_of_the_program_runs_and_nothing_of_ours_is_seen(project):
    project.write("own/sitecustomize.py", "import os; open('it-ran', 'w').write(os.environ.get('PYTHONPATH', ''))")
    run = start(project, f"exec {PYTHON} {STREAMS}", PYTHONPATH="own")
    assert_all_by_task(run)
    assert (project.directory / "it-ran").read_text() == "own"


SOCKET_FIRST = """
import socket, sys
socket.create_server(("127.0.0.1", 0)).close()   # the session is met here, long before asyncio is imported
assert "asyncio" not in sys.modules and "threading" not in sys.modules
import runpy
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_asyncio_may_be_imported_after_the_session_is_met(project):
    project.write("first.py", SOCKET_FIRST)
    assert_all_by_task(start(project, f"exec {PYTHON} first.py {STREAMS}"))


def test_a_forked_child_knows_what_its_parent_knew(project):
    project.write("fork.py", """
import os, runpy, socket, sys
import asyncio
socket.create_server(("127.0.0.1", 0)).close()
if os.fork():
    os.wait()
    sys.exit()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
""")
    assert_all_by_task(start(project, f"exec {PYTHON} fork.py {STREAMS}"))


# --- tasks ------------------------------------------------------------------------------------------------

KEPT_ALIVE = """
import asyncio, sys
port, back = int(sys.argv[1]), int(sys.argv[2])

async def get(path):
    reader, writer = await asyncio.open_connection("127.0.0.1", back)
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: back\\r\\nConnection: close\\r\\n\\r\\n".encode())
    await reader.read()
    writer.close()

second = asyncio.Event()

async def afterwards(path, how):
    await second.wait()
    await get(f"{path}/{how}")

def timer(path):
    kept.append(asyncio.get_running_loop().create_task(afterwards(path, "timer")))

kept = []
async def answer(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode()
            path = head.split()[1]
            if path == "/1":   # leaves work behind, which goes on while the next request is served
                kept.append(asyncio.create_task(afterwards(path, "task")))
                asyncio.get_running_loop().call_later(0.001, timer, path)
            else:
                second.set()
                await get(f"{path}/own")
                await asyncio.gather(*kept)
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()
asyncio.run(main())
"""


def test_work_left_behind_on_a_connection_keeps_its_request(project):
    """The next request comes on the same connection while a task and a timer of the first go on."""
    project.write("kept.py", KEPT_ALIVE)
    web = {"name": "web", "command": f"exec {PYTHON} kept.py ${{port:web}} ${{port:back}}"}
    project.write("client.py", """
import http.client, sys, time
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for path in ("/1", "/2"):
    connection.request("GET", path)
    assert connection.getresponse().read() == b""
""")
    run = observe(project, [relay("back"), web], f"exec {PYTHON} client.py ${{port:web}}", complete=False)
    assert ("/1/task", "task", "/1") in attributed(run)
    assert ("/2/own", "task", "/2") in attributed(run)
    assert {row for row in attributed(run) if "timer" in row[0]} <= {("/1/timer", "task", "/1")}


PIPELINE = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(b"".join(b"GET /%d HTTP/1.1\\r\\nHost: web\\r\\n\\r\\n" % n for n in range(4)))
    got = b""
    while got.count(b"HTTP/1.1 200") < 4:
        more = connection.recv(4096)
        assert more
        got += more
"""


@pytest.mark.parametrize("server", ["streams", "uvicorn", "aiohttp"])
def test_pipelined_requests_are_not_told_apart_wrongly(project, server):
    project.write("pipeline.py", PIPELINE)
    web = {"name": "web", "command": matrix.python_server(server, "streams")}
    run = observe(project, [relay("back"), web], f"exec {PYTHON} pipeline.py ${{port:web}}", complete=False)
    shares = matrix.judge(run)
    assert shares.wrong == [] and shares.total == 16, shares


RAW = """
import asyncio, socket, sys
port, back = int(sys.argv[1]), int(sys.argv[2])

async def answer(loop, connection):
    while True:
        head = await loop.sock_recv(connection, 65536)
        if not head:
            return connection.close()
        for n in (0, 1):
            own = socket.socket()
            own.setblocking(False)
            await loop.sock_connect(own, ("127.0.0.1", back))
            await loop.sock_sendall(own, head.split()[1].join([b"GET ", b"/%d HTTP/1.1\\r\\nHost: b\\r\\nConnection: close\\r\\n\\r\\n" % n]))
            while await loop.sock_recv(own, 65536):
                pass
            own.close()
        await loop.sock_sendall(connection, b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")

async def main():
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    tasks = []
    while True:
        connection, _ = await loop.sock_accept(listener)
        connection.setblocking(False)
        tasks.append(loop.create_task(answer(loop, connection)))
asyncio.run(main())
"""


def test_a_loop_that_reads_its_sockets_itself(project):
    project.write("raw.py", RAW)
    assert_all_by_task(start(project, f"exec {PYTHON} raw.py ${{port:web}} ${{port:back}}"))


@pytest.mark.parametrize("client", ["streams", "aiohttp"])
def test_a_refused_connection_in_a_task_hits_its_request(project, client):
    """Both requests are open at the same time, and only the planned one meets a refusal."""
    project.write("filibuster.json", {
        "version": 1, "default_faults": False,
        "faults": [{"on": {"service": "back"}, "inject": ["refused"]}],
        "services": [relay("back"), {"name": "web", "command": f"exec {PYTHON} {matrix.HERE}/plain.py ${{port:web}} "
                                                                f"{client} {url('back', '')}"}],
        "tests": [probe(url("web", "/a"), url("web", "/b"), expected="200,503")]})
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert run.test["counts"]["executed"] >= 4, run.test["counts"]
    assert run.test["counts"].get("plan_not_met", 0) == 0, run.test["counts"]


# A loop alone stays, and a library on it.
@pairs.only("client", ["streams", "httpx"])
@pytest.mark.parametrize("client", ["streams", "aiohttp", "httpx"])
def test_a_request_whose_body_comes_a_turn_later_gets_its_faults(project, client):
    """Four of them, two and two at the same time; none is left out, and each fault hits the one it is meant for."""
    project.write("filibuster.json", {
        "version": 1, "default_faults": False, "faults": [{"on": {"service": "back"}, "inject": [404]}],
        "services": [relay("back"), {"name": "web", "command": f"exec {PYTHON} {matrix.HERE}/plain.py ${{port:web}} "
                                                                f"{client} {url('back', '')} two"}],
        "tests": [probe(url("web", "/a"), url("web", "/b"), expected="200,503")]})
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0, run
    assert run.test["without_cause"] == [] and run.test["counts"].get("plan_not_met", 0) == 0, run.test["counts"]
    assert run.executed == 2 ** 4, run
    assert all(rpc["method"] == "POST" for rpc in run.test["reference"] if rpc["caller"] == "web")


# --- threads ------------------------------------------------------------------------------------------------

LAZY = """
import http.client, http.server, queue, sys, threading
port, back, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def get(path):
    connection = http.client.HTTPConnection("127.0.0.1", back)
    connection.request("GET", path)
    connection.getresponse().read()
    connection.close()

work, lock, worker = queue.Queue(), threading.Lock(), []

def serve():
    while True:
        path, done = work.get()
        get(path + "/queued")
        done.set()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if kind == "queue":
            with lock:
                if not worker:
                    worker.append(threading.Thread(target=serve, daemon=True))
                    worker[0].start()
            done = threading.Event()
            work.put((self.path, done))
            done.wait()
        if kind == "thread":
            own = [threading.Thread(target=get, args=(f"{self.path}/{n}",)) for n in (0, 1)]
            for thread in own: thread.start()
            for thread in own: thread.join()
        if kind == "timer":
            own = threading.Timer(0.01, get, (self.path + "/later",))
            own.start()
            own.join()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def threads(project, kind):
    project.write("lazy.py", LAZY)
    return start(project, f"exec {PYTHON} lazy.py ${{port:web}} ${{port:back}} {kind}")


def test_a_thread_works_for_the_request_that_started_it(project):
    assert_all_by_task(threads(project, "thread"))


def test_a_timer_works_for_the_request_that_set_it(project):
    assert attributed(threads(project, "timer")) == [(f"/{n}/later", "task", f"/{n}") for n in range(4)]


def test_a_worker_that_the_first_request_started_does_not_work_for_it_alone(project):
    rows = attributed(threads(project, "queue"))
    assert len(rows) == 4
    assert all(cause in ("none", "only-active") and parent in ("", path.rpartition("/")[0])
               for path, cause, parent in rows), rows


# --- what is not known is said ---------------------------------------------------------------------------

def test_uvloop_is_named_and_nothing_is_guessed(project):
    shares = matrix.run(project, matrix.python_server("uvloop", "streams"), 4)
    assert shares.wrong == []
    assert any("uvloop" in note for note in shares.run.test["notes"])


def test_the_program_sees_its_own_functions(project):
    """Names, signatures, exceptions and what asyncio's debug mode keeps are as without us."""
    project.write("look.py", """
import asyncio, concurrent.futures, inspect, socket, threading, traceback
socket.create_server(("127.0.0.1", 0)).close()

def names(function):
    return (function.__name__, function.__qualname__, function.__module__, function.__doc__, str(inspect.signature(function)))

async def fail():
    raise ValueError("mine")

async def main():
    task = asyncio.get_running_loop().create_task(fail(), name="named")
    print(task.get_name(), [frame.name for frame in task._source_traceback][-2:])
    print([frame.name for frame in asyncio.get_running_loop().call_later(9, print)._source_traceback][-1:])
    try:
        await task
    except ValueError as problem:
        print([frame.name for frame in traceback.extract_tb(problem.__traceback__)])

for function in (asyncio.BaseEventLoop.create_task, asyncio.BaseEventLoop.call_at, threading.Thread.start,
                 threading.Event.wait, concurrent.futures.ThreadPoolExecutor.submit,
                 asyncio.SelectorEventLoop._accept_connection2):
    print(names(function))
print(inspect.iscoroutinefunction(asyncio.SelectorEventLoop._accept_connection2))
asyncio.run(main(), debug=True)
try:
    concurrent.futures.ThreadPoolExecutor(1).submit()
except TypeError as problem:
    print(problem)
print(threading.Event().wait(0.01), threading.Event().wait(timeout=0))
""")
    plain = subprocess.run([PYTHON, "look.py"], cwd=project.directory, capture_output=True, text=True, timeout=60)
    run = observe(project, [relay("back")], f"{PYTHON} look.py > seen && curl -sS {url('back')}", complete=False)
    assert plain.returncode == 0, plain.stderr
    assert (project.directory / "seen").read_text() == plain.stdout
    assert run.exit_code == 3


def test_an_interpreter_whose_frames_cannot_be_read_is_named(project):
    """A program that looks like Python and has none of the functions that read frames."""
    project.write("old.c", """
int Py_IsInitialized(void) { return 1; }
const char *Py_GetVersion(void) { return "3.6.0 (of this test)"; }
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[count - 1]))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, (void *)&to, sizeof to)) return 1;
  const char *text = "GET / HTTP/1.1\\r\\nHost: back\\r\\nConnection: close\\r\\n\\r\\n";
  char answer[4096];
  send(s, text, strlen(text), 0);
  while (recv(s, answer, sizeof answer, 0) > 0) {}
  return 0;
}
""")
    subprocess.run(["gcc", "-rdynamic", "-o", "old", "old.c"], cwd=project.directory, check=True)
    run = observe(project, [relay("back")], "./old ${port:back}", complete=False)
    (rpc,) = run.test["reference"]
    assert rpc["stack"] == []
    said = " ".join(run.test["notes"])
    assert "3.6.0" in said and "not readable" in said, run.test["notes"]


def test_the_folder_of_a_program_is_no_part_of_an_index(project):
    seen = []
    for folder in ("here", "elsewhere"):
        (project.directory / folder).mkdir()
        (project.directory / folder / "relay.py").write_text((APPS / "relay.py").read_text())
        front = relay("front", "back", directory=folder, python=True)
        front["command"] = front["command"].replace(f"{APPS}/relay.py", "relay.py")
        run = observe(project, [relay("back"), front], probe(url("front"))["command"])
        seen.append(sorted(rpc["index"] for rpc in run.test["reference"]))
        assert any(f"/{folder}/relay.py" in frame for rpc in run.test["reference"] for frame in rpc["stack"]), run
    assert seen[0] == seen[1] and len(seen[0]) == 2
