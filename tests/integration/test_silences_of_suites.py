"""What `filibuster suite` says where no answer comes: of what follows the silence, and once of the client that waits."""
import pathlib

import pytest

from conftest import PYTHON, REPOSITORY
from shop_suite import report, suite

MOCHA = REPOSITORY / "build/tests/suites/node_modules/.bin/mocha"

# A thing is there once: who makes it again is told of a conflict.
SERVER = '''
import http.server, sys
class Store(http.server.BaseHTTPRequestHandler):
    things = set()
    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_GET(self): self.answer(200)
    def do_DELETE(self):
        self.things.discard(self.path)
        self.answer(200)
    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        there = self.path in self.things
        self.things.add(self.path)
        self.answer(409 if there else 200)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
'''
STORE = [{"name": "shop", "command": f"exec {PYTHON} server.py ${{port:shop}}", "third_party": True}]

# As SDKs are: it waits for a minute, in an event loop, and tries again when the connection has ended.
SDK = '''
import asyncio, os
class Conflict(Exception): pass
async def once(method, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["SHOP_PORT"]))
    try:
        writer.write(f"{method} {path} HTTP/1.1\\r\\nHost: shop\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
        line = await asyncio.wait_for(reader.readline(), 60)
        if not line: raise ConnectionResetError("the connection was closed")
        return int(line.split()[1])
    finally:
        writer.close()
async def call(method, path):
    for left in (2, 1, 0):
        try:
            status = await once(method, path)
        except ConnectionError:
            if not left: raise
            continue
        if status == 409: raise Conflict(path + " is there already")
        return status
'''
LIBRARY = "import asyncio, os, sys, urllib.request\nsys.path.insert(0, 'site-packages')\nimport sdk\n"
MAKES = LIBRARY + '''
def make(): return asyncio.run(sdk.call("PUT", "/thing"))
'''
MAKE = '''
import urllib.request
from maker import make
def test_make():
    urllib.request.urlopen(urllib.request.Request(os.environ["SHOP_URL"] + "/thing", method="DELETE"), timeout=5)
    assert make() == 200
'''
READS = LIBRARY + '''
def first(): return asyncio.run(sdk.call("GET", "/first"))
def second(): return asyncio.run(sdk.call("GET", "/second"))
'''
QUICK = {"hang_limit": 1}


@pytest.fixture
def store(project):
    project.write("server.py", SERVER)
    pathlib.Path(project.directory, "site-packages").mkdir()
    project.write("site-packages/sdk.py", SDK)
    return project


def clusters(run):
    return [(one["oracle"], one["policy"], one["likely_bug"]) for one in report(run)["clusters"]]


@pytest.mark.parametrize("policies", ["P1", "P1-reset,P1"], ids=["after the silence", "at once"])
def test_what_follows_a_silence_is_judged_and_the_wait_is_a_note_of_the_client(store, policies):
    run = suite(store, MAKE, "--policy", policies, services=STORE, bounds=QUICK, maker=MAKES)
    assert clusters(run) == [("inconsistent-exception", policies.split(",")[0], True)], run
    assert "retry" in run.output and "409" in run.output and run.exit_code == 1, run
    waits = [(one["client"], one["waited"]) for one in report(run)["waiting_clients"]]
    assert waits == [("test -> shop", "test: caller still waited after 1 s for an answer")], run
    assert "has no timeout" not in run.output, run


def test_a_client_that_waits_is_waited_for_once_and_its_other_calls_are_reset(store):
    tests = "from reader import first, second\ndef test_first(): assert first() == 200\ndef test_second(): assert second() == 200\n"
    run = suite(store, tests, "--policy", "P1-reset,P1,P2", services=STORE, bounds=QUICK, reader=READS)
    assert run.exit_code == 0 and clusters(run) == [], run
    said = report(run)
    (client,) = said["waiting_clients"]
    assert client["executions"] == 1 and "Waits for an answer for longer than the hang limit" in run.output, run
    assert [fault["policy"] for fault in said["faults"] if fault["execution"]] == ["P1-reset", "P1", "P1-reset"], run
    assert all("P1-reset and P2-reset need no wait" in fault["skipped"] for fault in said["faults"] if not fault["execution"]), run


def test_a_client_without_a_timeout_is_one_finding(store):
    reads = READS.replace('asyncio.run(sdk.call("GET", "', '(urllib.request.urlopen(os.environ["SHOP_URL"] + "').replace('"))', '").status)')
    tests = "from reader import first, second\ndef test_first(): assert first() == 200\ndef test_second(): assert second() == 200\n"
    run = suite(store, tests, "--policy", "P1", services=STORE, bounds=QUICK, reader=reads)
    assert clusters(run) == [("hang", "P1", True)] and run.exit_code == 1, run
    assert "caller has no timeout" in run.output and len(report(run)["clusters"][0]["executions"]) == 2, run


BACKS_OFF = '''
import os, time, urllib.error, urllib.request
class Unavailable(Exception): pass
def get():
    for n in range(5):
        try:
            return urllib.request.urlopen("http://127.0.0.1:" + os.environ["SHOP_PORT"] + "/a", timeout=5).status
        except urllib.error.HTTPError as error:
            last = Unavailable(f"HTTP {error.code} five times")
        if n < 4: time.sleep(PAUSE)
    raise last
'''


@pytest.mark.parametrize("pause, oracle", [("0.3 * 2 ** n", "consistent-exception"), ("(0.2, 120, 0, 0)[n]", "hang")], ids=["a backoff", "a hang"])
def test_the_limit_of_a_test_is_one_of_silence_where_its_client_was_told_to_come_again(store, pause, oracle):
    run = suite(store, "from getter import get\ndef test_get(): assert get() == 200\n", "--policy", "P3", services=STORE, bounds={"hang_limit": 2}, getter=BACKS_OFF.replace("PAUSE", pause))
    (fault,) = report(run)["faults"]
    assert fault["oracle"] == oracle, run


NODE_TEST = '''
const http = require('http');
const ask = (path) => new Promise((done, failed) => {
  http.request({port: process.env.SHOP_PORT, path, method: 'POST'}, (answer) => { answer.resume(); answer.on('end', () => done(answer.statusCode)); })
      .on('error', failed).end();
});
module.exports = {ask};
'''


@pytest.mark.skipif(not MOCHA.exists(), reason="NOT TESTED HERE: mocha is not built (make test-programs)")
@pytest.mark.parametrize("own, oracle", [("", "consistent-exception"), ("this.timeout(1500);", "unreadable")], ids=["the runner's", "the test's own"])
def test_the_runners_limit_is_lifted_and_one_of_the_test_itself_is_named(store, own, oracle):
    store.write("server.py", SERVER.replace("do_GET", "do_POST"))
    store.write("client.js", NODE_TEST)
    pathlib.Path(store.directory, "test").mkdir()
    store.write("test/ask.spec.js", f'''
const {{ask}} = require('../client');
it('asks', async function () {{ {own} if (await ask('/a') !== 200) throw new Error('no'); }});
''')
    run = suite(store, "", "--policy", "P1", services=STORE, bounds={"hang_limit": 3}, entry={"runner": "mocha", "program": str(MOCHA)})
    (fault,) = report(run)["faults"]
    assert fault["oracle"] == oracle, run
    assert "mocha's limit for a test is lifted (--timeout 0)" in run.output, run
    assert ("the runner's own limit for a test was over" in run.output) == bool(own), run
