"""Which request caused an RPC: right, or not known; never wrong. The paths of the requests carry what the
application knows of it: the RPCs of request /n are /n/0 and /n/1."""
import pytest

from conftest import PYTHON
from rpc_tree import attributions, causes, chains, observe
from small_apps import APPS, relay, url


def streams(name, *calls):
    return {"name": name, "command": f"exec {PYTHON} {APPS}/streams.py ${{port:{name}}} " + " ".join(calls)}


def flask(*calls):
    return {"name": "web", "command": f"exec {PYTHON} {APPS}/web.py ${{port:web}}", "env": {"CALLS": " ".join(calls)}}


def many(number, name="web"):
    return f"exec {PYTHON} {APPS}/many.py {number} {url(name, '')}"


def test_damaged_fields_count_for_nothing_and_are_counted(project):
    """One from a client that has the library, which overrules it; two from one that has not."""
    damaged = "curl -sSf -H 'x-filibuster: 1-damaged'"
    run = observe(project, [relay("back"), relay("web", url("back"))],
                  f"{damaged} {url('web')} && env -u LD_PRELOAD {damaged} {url('web')} {url('web')}", complete=False)
    assert run.test["damaged_fields"] == 3, run.test
    assert any(note.startswith("3 requests carried a forged or damaged") for note in run.test["notes"]), run.test["notes"]
    assert [rpc["cause"] for rpc in run.test["reference"] if rpc["service"] == "web"] == ["entry"] * 3
    control = observe(project, [relay("back"), relay("web", url("back"))], f"curl -sSf {url('web')}")
    assert control.test["damaged_fields"] == 0


@pytest.mark.parametrize("number", [1, 2, 8])
def test_a_threaded_server_with_concurrent_requests(project, number):
    run = observe(project, [relay("back"), flask(url("back", ""), url("back", ""))], many(number))
    right, unknown, wrong = attributions(run)
    assert wrong == [] and unknown == []
    assert sorted(right) == sorted(f"/{n}/{call}" for n in range(number) for call in range(2))
    assert causes(run, "web") == {"thread"}


def test_an_event_loop_with_one_request(project):
    run = observe(project, [relay("back"), streams("web", url("back", ""), url("back", ""))], many(1))
    assert attributions(run) == (["/0/0", "/0/1"], [], [])
    assert causes(run, "web") == {"task"}


# An event loop of the program's own: reads NUMBER requests, then makes the calls of each.
LOOP = """
import http.client, select, socket, sys
port, target, number = map(int, sys.argv[1:4])
listener = socket.create_server(("127.0.0.1", port))
events = select.epoll()
events.register(listener, select.EPOLLIN)
connections, requests = {}, []
while True:
    for fd, _ in events.poll():
        if fd == listener.fileno():
            connection, _ = listener.accept()
            connections[connection.fileno()] = connection
            events.register(connection, select.EPOLLIN)
            continue
        connection = connections.pop(fd)
        head = connection.recv(65536)
        events.unregister(fd)
        if head:  # else: somebody looked whether we are there
            requests.append((connection, head))
    if len(requests) < number:
        continue
    for connection, head in requests:
        for n in (0, 1):
            own = http.client.HTTPConnection("127.0.0.1", target, timeout=20)
            own.request("GET", head.split()[1].decode() + f"/{n}")
            own.getresponse().read()
            own.close()
    for connection, head in requests:
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        connection.close()
    requests.clear()
"""


@pytest.mark.parametrize("number", [1, 8])
def test_an_event_loop_that_nobody_knows_is_not_guessed(project, number):
    project.write("loop.py", LOOP)
    web = {"name": "web", "command": f"exec {PYTHON} loop.py ${{port:web}} ${{port:back}} {number}"}
    run = observe(project, [relay("back"), web], many(number), complete=False)
    right, unknown, wrong = attributions(run)
    assert wrong == [], wrong
    assert causes(run, "web") == ({"only-active"} if number == 1 else {"none"})
    assert (len(right), len(unknown)) == ((2, 0) if number == 1 else (0, 16))
    assert len(run.test["without_cause"]) == len(unknown), "each is listed"
    assert all("cause" in line for line in run.test["without_cause"])


# Answers when the first calls (/n/0) of NUMBER requests are there.
GATE = """
import http.server, sys, threading
everyone = threading.Barrier(int(sys.argv[2]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.endswith("/0"):
            everyone.wait(timeout=30)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_threaded_server_whose_requests_are_all_open(project):
    """The control: the same overlap, and the thread still tells them apart."""
    project.write("gate.py", GATE)
    gate = {"name": "back", "command": f"exec {PYTHON} gate.py ${{port:back}} 8"}
    run = observe(project, [gate, flask(url("back", ""), url("back", ""))], many(8))
    right, unknown, wrong = attributions(run)
    assert (len(right), unknown, wrong) == (16, [], [])


# Answers GET /n only after three more heartbeats have come.
BEATEN = """
import http.server, sys, threading
changed, beats = threading.Condition(), 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global beats
        with changed:
            if self.path == "/heartbeat":
                beats += 1
                changed.notify_all()
            else:
                enough = beats + 3
                changed.wait_for(lambda: beats >= enough, timeout=30)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.parametrize("number", [1, 8])
def test_a_heartbeat_is_never_caused_by_a_request(project, number):
    """Every 5 ms, from a thread of its own; each request is open for several beats."""
    project.write("back.py", BEATEN)
    back = {"name": "back", "command": f"exec {PYTHON} back.py ${{port:back}}"}
    web = relay("web", url("back", "/called"), options=f"--heartbeat {url('back', '/heartbeat')}", python=True)
    run = observe(project, [back, web], many(number), complete=False)
    beats = [rpc for rpc in run.test["reference"] if rpc["path"] == "/heartbeat"]
    assert len(beats) >= 3, "it did beat while requests were open"
    # Also one that was sent just before the execution and arrives in it: that is no entry of it.
    assert {rpc["cause"] for rpc in beats} == {"none"} and {rpc["parent"] for rpc in beats} == {""}
    assert any("/heartbeat" in line for line in run.test["without_cause"]), "it is listed"
    others = [rpc for rpc in run.test["reference"] if rpc["path"] == "/called"]
    assert [rpc["cause"] for rpc in others] == ["thread"] * number


# A thread beside an event loop calls before anything is served, and once while each request is open.
BESIDE = """
import http.client, select, socket, sys, threading
port, target = map(int, sys.argv[1:3])
wanted, beaten = threading.Semaphore(0), threading.Semaphore(0)
def beat():
    while True:
        own = http.client.HTTPConnection("127.0.0.1", target, timeout=20)
        own.request("GET", "/heartbeat")
        own.getresponse().read()
        own.close()
        beaten.release()
        wanted.acquire()
threading.Thread(target=beat, daemon=True).start()
beaten.acquire()
listener = socket.create_server(("127.0.0.1", port))
events = select.epoll()
events.register(listener, select.EPOLLIN)
connections = {}
while True:
    for fd, _ in events.poll():
        if fd == listener.fileno():
            connection, _ = listener.accept()
            connections[connection.fileno()] = connection
            events.register(connection, select.EPOLLIN)
            continue
        connection = connections.pop(fd)
        if connection.recv(65536):
            wanted.release()
            beaten.acquire()
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        events.unregister(fd)
        connection.close()
"""


def test_a_call_site_that_was_seen_before_the_execution_is_not_the_only_open_requests(project):
    project.write("beside.py", BESIDE)
    web = {"name": "web", "command": f"exec {PYTHON} beside.py ${{port:web}} ${{port:back}}"}
    run = observe(project, [relay("back"), web], many(1), complete=False)
    (beat,) = [rpc for rpc in run.test["reference"] if rpc["path"] == "/heartbeat"]
    assert (beat["cause"], beat["parent"]) == ("none", "")


# An event loop that copies the headers of a request into the one that it forwards, as proxies do.
FORWARD = """
import asyncio, sys
port, target = int(sys.argv[1]), int(sys.argv[2])
async def serve(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    to, out = await asyncio.open_connection("127.0.0.1", target)
    from_, back = to, writer
    out.write(head.replace(b" HTTP/", b"/forwarded HTTP/", 1))
    back.write(await from_.read())
    await back.drain()
    back.close()
    out.close()
async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [1, 8])
def test_forwarded_headers_prove_the_cause_where_nothing_else_does(project, number):
    project.write("forward.py", FORWARD)
    project.write("gate.py", GATE.replace("/0", "/forwarded"))
    gate = {"name": "back", "command": f"exec {PYTHON} gate.py ${{port:back}} {number}"}
    web = {"name": "web", "command": f"exec {PYTHON} forward.py ${{port:web}} ${{port:back}}"}
    run = observe(project, [gate, web], many(number))
    right, unknown, wrong = attributions(run)
    assert sorted(right) == sorted(f"/{n}/forwarded" for n in range(number))
    assert unknown == [] and wrong == []
    assert causes(run, "web") == {"header"}


# GET /n calls itself with /n-1, down to /0: the paths nest.
SELF = """
import http.client, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path[1:])
        for _ in range(2 if n else 0):
            own = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
            own.request("GET", f"/{n - 1}")
            own.getresponse().read()
            own.close()
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_service_that_calls_itself_has_a_path_for_each_depth(project):
    project.write("self.py", SELF)
    web = {"name": "web", "command": f"exec {PYTHON} self.py ${{port:web}}"}
    run = observe(project, [web], f"curl -sS {url('web')}3")
    top = "test>web GET /3 200"
    expected, level = [top], [top]
    for n in (2, 1, 0):
        level = [f"{above} / web>web GET /{n} 200" for above in level for _ in range(2)]
        expected += level
    assert chains(run) == sorted(expected)
    counts = [rpc["count"] for rpc in run.test["reference"] if rpc["caller"] == "web"]
    assert sorted(counts) == [1] * 7 + [2] * 7


def test_a_test_that_is_not_preloaded_enters_where_it_arrives(project):
    run = observe(project, [relay("back"), flask(url("back", ""), url("back", ""))],
                  "env -u LD_PRELOAD curl -sS " + " ".join(f"{url('web')}{n}" for n in (0, 1, 1)))
    tops = [rpc for rpc in run.test["reference"] if rpc["path"].count("/") == 1]
    assert [(rpc["path"], rpc["count"], rpc["cause"], rpc["service"]) for rpc in tops] == [
        ("/0", 1, "entry", "web"), ("/1", 1, "entry", "web"), ("/1", 2, "entry", "web")]
    assert [(rpc["stack"], rpc["caller"]) for rpc in tops] == [([], "")] * 3, "nobody saw who called"
    right, unknown, wrong = attributions(run)
    assert (len(right), unknown, wrong) == (6, [], [])
    assert len({rpc["index"] for rpc in run.test["reference"]}) == 9
