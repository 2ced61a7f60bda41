"""Call sites in suites of client libraries that make their requests some ticks, tasks or threads after the program's call."""
import collections
import json
import pathlib
import shutil

import pytest

from conftest import PYTHON, REPOSITORY

PACKAGES = REPOSITORY / "build" / "tests" / "suites" / "node_modules"
SERVER = '''
import http.server, sys
class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(400 if self.path == "/describe" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
'''


def estimated(project, **entry):
    """What an estimate says of each test of the suite, by the last word of its name."""
    project.write("server.py", SERVER)
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        "tests": [{**entry, "env": {"PORT": "${port:s}", **entry.get("env", {})}}]})
    run = project.filibuster("suite", "--estimate")
    assert (project.root / "suite.json").exists(), run
    return {test["test"].replace("::", " ").rsplit(" ", 1)[-1]: test
            for test in json.loads((project.root / "suite.json").read_text())["tests"]}


def sites(test):
    """The call sites of each path."""
    out = collections.defaultdict(set)
    for site in test["call_sites"]:
        out[site["call"].removeprefix("PUT /")].add(site["call_site"])
    return dict(out)


def line_with(project, file, mark):
    """'lib/store.js:3' of the line that ends with this mark."""
    lines = pathlib.Path(project.directory, file).read_text().splitlines()
    return f"{file}:{1 + [line.endswith(mark) for line in lines].index(True)}"


# --- Node -----------------------------------------------------------------------------------------

# No function of it is on the stack when it makes a request, and V8 knows only async functions that wait.
NODE_SDK = '''
const fs = require('fs'), http = require('http'), dns = require('dns');
const request = (path, done) => {
  const r = http.request({ host: '127.0.0.1', port: process.env.PORT, path, method: 'PUT' }, (s) => {
    s.resume().on('end', () => done(s.statusCode < 300 ? null : new Error(`status ${s.statusCode}`), path)); });
  r.on('error', done).end('{}');
};
const promised = (path) => new Promise((ok, no) => request(path, (e) => (e ? no(e) : ok(path))));
const ticks = (next) => async (path) => { await null; return next(path); };
const turns = (next) => async (path) => { await new Promise((go) => setImmediate(go)); return next(path); };
const handler = ticks(turns(promised));
exports.send = (path) => handler(path);
exports.sendBack = (path, done) => process.nextTick(() => setTimeout(() => setImmediate(request, path, done), 1));
exports.sendFromBelow = (path) => { const down = (n) => (n > 0 ? down(n - 1) : promised(path)); return down(100); };
exports.readAndSend = (path, done) => fs.readFile(__filename, () => request(path, done));
exports.resolveAndSend = (path, done) => dns.lookup('localhost', () => request(path, done));
'''
NODE_STORE = '''
const sdk = require('sdk');
const { promisify } = require('util');
const sendBack = promisify(sdk.sendBack);
exports.describe = () => sdk.send('/describe');                                 // describe
exports.create = () => sdk.send('/create');                                     // create
exports.init = () => exports.describe().then(() => 1).catch(() => {
  return exports.create().then(() => 2);
});
exports.initAsync = async () => {
  try { await exports.describe(); } catch { await exports.create(); }
};
exports.forms = {
  returned: () => sdk.send('/returned'),                                        // returned
  nested: () => { const inner = () => sdk.send('/nested'); return inner(); },   // nested
  deep: () => sdk.sendFromBelow('/deep'),                                       // deep
  awaited: async () => { await sdk.send('/awaited'); },                         // awaited
  after: async () => { await null; return sdk.send('/after'); },                // after
  then: () => Promise.resolve().then(() => sdk.send('/then')),                  // then
  handed: () => Promise.resolve('/handed').then(sdk.send),                      // handed
  caught: () => Promise.reject(new Error('no')).catch(() => sdk.send('/caught')),   // caught
  called: (done) => sdk.sendBack('/called', done),                              // called
  read: (done) => sdk.readAndSend('/read', done),                               // read
  resolved: (done) => sdk.resolveAndSend('/resolved', done),                    // resolved
  promisified: () => sendBack('/promisified'),                                  // promisified
  timed: () => new Promise((ok) => setTimeout(() => ok(sdk.send('/timed')), 1)),    // timed
  all: () => Promise.all(['/all'].map(sdk.send)),                               // all
};
'''
NODE_TEST = '''
const sdk = require('sdk'), store = require('../lib/store');
it('init', async () => {
  await store.init();
  await store.initAsync();
});
it('own', async () => {
  await sdk.send('/own');
  await sdk.send('/own').then(() => sdk.send('/own'));
});
it('forms', async () => {
  for (const [name, form] of Object.entries(store.forms))
    await (form.length > 0 ? new Promise((ok) => form(ok)) : form());
});
'''
NODE_FORMS = ["returned", "nested", "deep", "awaited", "after", "then", "handed", "caught", "called", "read", "resolved", "promisified", "timed", "all"]


@pytest.fixture
def node_store(project):
    if not (PACKAGES / "mocha").exists() or shutil.which("node") is None:
        pytest.skip(f"NOT TESTED HERE: mocha is not installed below {PACKAGES} (make test-programs)")
    project.write("node_modules/sdk/index.js", NODE_SDK)
    project.write("lib/store.js", NODE_STORE)
    project.write("test/store.test.js", NODE_TEST)
    return project, {"runner": "mocha", "program": f"node {PACKAGES}/mocha/bin/mocha.js"}


def test_in_node_a_function_that_returns_a_promise_is_the_call_site(node_store):
    project, entry = node_store
    tests = estimated(project, **entry)
    describe, create = (line_with(project, "lib/store.js", f"// {name}") for name in ("describe", "create"))
    found = {path: {site.split(" ")[0] for site in of} for path, of in sites(tests["init"]).items()}
    assert found == {"describe": {describe}, "create": {create}}, tests["init"]
    assert tests["init"]["own_calls"] == 0, tests["init"]
    # Each form of the list is asked for in a path with its name, and stands on a line with its name.
    found = {path: {site.split(" ")[0] for site in of} for path, of in sites(tests["forms"]).items()}
    assert found == {form: {line_with(project, "lib/store.js", f"// {form}")} for form in NODE_FORMS}
    # What the test itself calls stays its own.
    assert (tests["own"]["call_sites"], tests["own"]["own_calls"]) == ([], 3), tests["own"]
    assert "only its own code" in tests["own"]["left_out"], tests["own"]


# --- Python ---------------------------------------------------------------------------------------

PYTHON_SDK = '''
import asyncio, http.client, os
def put(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]))
    connection.request("PUT", path, b"{}")
    connection.getresponse().read()
    connection.close()
async def request(path):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["PORT"]))
    writer.write(f"PUT {path} HTTP/1.1\\r\\nHost: s\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n".encode())
    await reader.read()
    writer.close()
async def send(path):
    await asyncio.sleep(0)
    await request(path)
async def spawn(path):
    await asyncio.sleep(0)
    await asyncio.create_task(request(path))
class Request:
    def __init__(self, path): self.made = send(path)
    def __await__(self): return self.made.__await__()
'''
PYTHON_STORE = '''
import asyncio, concurrent.futures, threading
import sdk
def returned(): return sdk.send("/returned")                                        # returned
def nested():
    def inner(): return sdk.send("/nested")                                         # nested
    return inner()
def wrapped(): return sdk.Request("/wrapped")                                       # wrapped
async def awaited(): await sdk.send("/awaited")                                     # awaited
def limited(): return asyncio.wait_for(sdk.send("/limited"), 60)                    # limited
async def waited(): await asyncio.wait_for(sdk.send("/waited"), 60)                 # waited
def gathered(): return asyncio.gather(sdk.send("/gathered"))                        # gathered
def tasked(): return asyncio.create_task(sdk.send("/tasked"))                       # tasked
def spawned(): return sdk.spawn("/spawned")                                         # spawned
def threaded(): return asyncio.to_thread(sdk.put, "/threaded")                      # threaded
def executed(): return asyncio.get_running_loop().run_in_executor(None, sdk.put, "/executed")   # executed
def pooled():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(sdk.put, "/pooled").result()                                    # pooled
def started():
    thread = threading.Thread(target=sdk.put, args=("/started",))
    thread.start()                                                                  # started
    thread.join()
'''
PYTHON_FORMS = ["returned", "nested", "wrapped", "awaited", "limited", "waited", "gathered", "tasked", "spawned", "threaded", "executed", "pooled",
                "started"]
PYTHON_TEST = f'''
import asyncio, warnings
import sdk, store
def test_forms():
    async def call():
        for name in {PYTHON_FORMS[:-2]}:
            await getattr(store, name)()
    asyncio.run(call())
    store.pooled()
    store.started()
def test_alone(): asyncio.run(store.returned())
def test_own():
    async def call():
        await sdk.send("/own")
        await asyncio.wait_for(sdk.send("/own"), 60)
    asyncio.run(sdk.send("/own"))
    asyncio.run(call())
def warned(act):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    (one,) = found
    return one.filename, str(one.message)
def test_warnings():
    assert warned(lambda: sdk.send("/never")) == (__file__, "coroutine 'send' was never awaited")
    async def call(): return warned(lambda: sdk.send("/never"))
    file, text = asyncio.run(call(), debug=True)
    assert file == __file__ and "Coroutine created at" in text
    asyncio.run(store.returned())
'''


def test_in_python_a_function_that_returns_a_coroutine_is_the_call_site(project):
    project.write("lib/python3/site-packages/sdk.py", PYTHON_SDK)
    project.write("store.py", PYTHON_STORE)
    project.write("test_store.py", PYTHON_TEST)
    tests = estimated(project, runner="pytest", program=f"{PYTHON} -m pytest", env={"PYTHONPATH": "lib/python3/site-packages"})
    found = {path: {site.split(" ")[0] for site in of} for path, of in sites(tests["test_forms"]).items()}
    assert found == {form: {line_with(project, "store.py", f"# {form}")} for form in PYTHON_FORMS}
    # The first coroutine of the process was made before there was a socket.
    assert sites(tests["test_alone"]) == {"returned": {line_with(project, "store.py", "# returned") + " (returned)"}}
    # What Python says of a coroutine that nobody awaits is what it says without us.
    assert tests["test_warnings"]["left_out"] == "", tests["test_warnings"]
    assert (tests["test_own"]["call_sites"], tests["test_own"]["own_calls"]) == ([], 3), tests["test_own"]


# --- loops ----------------------------------------------------------------------------------------

# It goes on when the first answer comes: in a callback of the loop, in no task.
PROTOCOL = '''
import asyncio, os
class Session(asyncio.Protocol):
    def __init__(self): self.over, self.left = asyncio.get_running_loop().create_future(), ["/second", "/first"]
    def connection_made(self, transport):
        self.transport = transport
        self.ask()
    def ask(self):
        self.transport.write(f"PUT {self.left.pop()} HTTP/1.1\\r\\nHost: s\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
    def data_received(self, data):
        if self.left: self.ask()
        else: self.over.set_result(None)
async def talk():
    transport, session = await asyncio.get_running_loop().create_connection(Session, "127.0.0.1", int(os.environ["PORT"]))
    await session.over
    transport.close()
'''


# Its loop has a thread that nobody sees it start.
OWN_LOOP = PYTHON_SDK + '''
import _thread, threading
over = threading.Event()
def serve():
    asyncio.run(request("/beat"))
    over.set()
def begin(): _thread.start_new_thread(serve, ())
'''


def test_a_frame_that_runs_an_event_loop_is_no_call_site(project):
    """Neither the loop's own, nor that of the test which runs it."""
    project.write("lib/python3/site-packages/sdk.py", PROTOCOL)
    project.write("lib/python3/site-packages/beat.py", OWN_LOOP)
    project.write("store.py", "import sdk, beat\ndef talk(): return sdk.talk()\ndef begin(): beat.begin()\n")
    project.write("test_store.py", "import asyncio, beat, store\ndef test_talk(): asyncio.run(store.talk())\n"
                  "def test_beat():\n    store.begin()\n    beat.over.wait()\n")
    tests = estimated(project, runner="pytest", program=f"{PYTHON} -m pytest", env={"PYTHONPATH": "lib/python3/site-packages"})
    (talk,) = tests["test_talk"]["call_sites"]
    assert (talk["call_site"], talk["calls"], tests["test_talk"]["own_calls"]) == ("store.py:2 (talk)", 2, 0), tests["test_talk"]
    # Where the program has no part in it, the library's own frame is left.
    (beat,) = tests["test_beat"]["call_sites"]
    assert "/beat.py:" in beat["call_site"] and "(request)" in beat["call_site"], beat


def test_what_uvloop_writes_has_no_call_site_and_is_not_the_tests_own(project):
    pytest.importorskip("uvloop", reason="NOT TESTED HERE: uvloop is not installed")
    project.write("lib/python3/site-packages/sdk.py", PYTHON_SDK)
    project.write("store.py", PYTHON_STORE)
    project.write("test_store.py", "import asyncio, uvloop\nimport store\nuvloop.install()\ndef test_it(): asyncio.run(store.returned())\n")
    tests = estimated(project, runner="pytest", program=f"{PYTHON} -m pytest", env={"PYTHONPATH": "lib/python3/site-packages"})
    assert sites(tests["test_it"]) == {"returned": {"(call site not known) s PUT"}}, tests["test_it"]


# --- callers of one helper --------------------------------------------------------------------------

HELPER = '''
import http.client, os
def _set(path, body=b"{}"):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]))
    connection.request("PUT", path, body, {"Content-Type": "application/json"})     # _set
    connection.getresponse().read()
    connection.close()
def add(): _set("/add")                                                             # add
def set(): _set("/set")                                                             # set
def one(): _same()                                                                  # one
def other(): _same()                                                                # other
def _same(): _set("/same")                                                          # _same
def insert(): _set("/item", b'{"item": 1, "unless": 2}')                            # insert
def update(): _set("/item", b'{"item": 3}')                                         # update
'''
HELPER_TEST = '''
import store
def test_add(): store.add()
def test_set(): store.set()
def test_both():
    store.one()
    store.other()
    store.insert()
    store.update()
'''


def test_callers_of_a_helper_are_call_sites_of_their_own_where_their_calls_differ(project):
    """In whichever tests they are reached; those that ask for the same are one."""
    project.write("store.py", HELPER)
    project.write("test_store.py", HELPER_TEST)
    tests = estimated(project, runner="pytest", program=f"{PYTHON} -m pytest")
    helper = line_with(project, "store.py", "# _set") + " (_set)"

    def via(name):
        return line_with(project, "store.py", f"# {name}") + f" ({name}) via {helper}"

    assert sites(tests["test_add"]) == {"add": {via("add")}}
    assert sites(tests["test_set"]) == {"set": {via("set")}}
    assert sites(tests["test_both"]) == {"same": {via("_same")}, "item": {via("insert"), via("update")}}


# --- servers --------------------------------------------------------------------------------------

# A server of a library: no function of the program is on the stack when it passes a request on.
NODE_GATEWAY = '''
const http = require('http');
const pass = (path, done) => http.request({ host: '127.0.0.1', port: process.env.PORT, path, method: 'PUT' }, (r) => {
  r.resume().on('end', done); }).end('{}');
exports.listen = (ready) => {
  const server = http.createServer((q, s) => process.nextTick(pass, '/passed', () => s.end()));
  server.listen(0, '127.0.0.1', () => ready(server));
};
exports.visit = (port, done) => http.get({ host: '127.0.0.1', port, agent: false }, (r) => { r.resume().on('end', done); });
'''
NODE_SERVED = '''
const gateway = require('gateway');
exports.start = () => new Promise((ok) => gateway.listen(ok));
exports.visit = (server) => new Promise((ok) => gateway.visit(server.address().port, ok));
'''
PYTHON_GATEWAY = PYTHON_SDK + '''
async def serve(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    await request("/passed")
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
    writer.close()
async def listen(): return await asyncio.start_server(serve, "127.0.0.1", 0)
async def visit(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\\r\\nHost: g\\r\\n\\r\\n")
    await reader.read()
    writer.close()
'''


def test_in_node_who_made_a_server_has_not_begun_what_its_requests_bring_about(node_store):
    project, entry = node_store
    project.write("node_modules/gateway/index.js", NODE_GATEWAY)
    project.write("lib/served.js", NODE_SERVED)
    project.write("test/store.test.js", "const served = require('../lib/served');\nit('served', async () => {\n"
                  "  const server = await served.start();\n  await served.visit(server);\n  server.close();\n});\n")
    test = estimated(project, **entry)["served"]
    assert not any("lib/served.js" in site for site in sites(test)["passed"]), test


def test_in_python_who_made_a_server_has_not_begun_what_its_requests_bring_about(project):
    project.write("lib/python3/site-packages/gateway.py", PYTHON_GATEWAY)
    project.write("served.py", "import gateway\ndef start(): return gateway.listen()\ndef visit(port): return gateway.visit(port)\n")
    project.write("test_served.py", "import asyncio, served\nasync def use():\n    server = await served.start()\n"
                  "    await served.visit(server.sockets[0].getsockname()[1])\n    server.close()\ndef test_served(): asyncio.run(use())\n")
    test = estimated(project, runner="pytest", program=f"{PYTHON} -m pytest", env={"PYTHONPATH": "lib/python3/site-packages"})["test_served"]
    assert not any("served.py" in site for site in sites(test)["passed"]), test
