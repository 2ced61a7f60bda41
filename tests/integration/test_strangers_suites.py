"""Suites of programs that were not written for us: what `filibuster suite` says of the ways in which such programs call their services."""
import json
import pathlib

import pytest

from conftest import PYTHON, REPOSITORY

PACKAGES = REPOSITORY / "build" / "tests" / "suites" / "node_modules"
# /create conflicts, always; /describe succeeds.
SERVER = '''
import http.server, sys
class Store(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(409 if self.path == "/create" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
'''
# It raises an exception for each answer that is an error, as client libraries do.
SDK = '''
import os, urllib.error, urllib.request
class Unavailable(Exception): pass
class InUse(Exception): pass
def call(path):
    request = urllib.request.Request("http://127.0.0.1:" + os.environ["PORT"] + path, b"{}", method="PUT")
    try:
        return urllib.request.urlopen(request, timeout=2).status
    except urllib.error.HTTPError as error:
        raise (InUse if error.code == 409 else Unavailable)("it went wrong") from None
'''
# Any failure of the first call is taken for 'it is not there'.
SWALLOWS = '''
import sdk
def open_store():
    try:
        sdk.call("/describe")
    except Exception:
        sdk.call("/create")
'''
# The failure of the first call is what the test is told of.
PASSES_ON = '''
import sdk
def open_store():
    sdk.call("/describe")
'''
TEST = '''
import store
def test_open():
    store.open_store()
'''


def suite(project, **test):
    pathlib.Path(project.directory, "server.py").write_text(SERVER)
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        "tests": [{**test, "env": {"PORT": "${port:s}", **test.get("env", {})}}]})


@pytest.mark.parametrize("store, library, oracle", [
    (SWALLOWS, "lib/python3/site-packages", "inconsistent-exception"),
    (SWALLOWS, "clients", "inconsistent-exception"),  # wherever the file of the library lies
    (PASSES_ON, "lib/python3/site-packages", "consistent-exception"),
], ids=["swallows", "swallows-own-library", "passes-on"])
def test_an_exception_belongs_to_the_call_that_raised_it(project, store, library, oracle):
    folder = pathlib.Path(project.directory)
    (folder / library).mkdir(parents=True)
    (folder / library / "sdk.py").write_text(SDK)
    (folder / "store.py").write_text(store)
    (folder / "test_store.py").write_text(TEST)
    suite(project, runner="pytest", program=f"{PYTHON} -m pytest", env={"PYTHONPATH": library})
    run = project.filibuster("suite", "--policy", "P3")
    report = json.loads((project.root / "suite.json").read_text())
    faults = [row for row in report["faults"] if row["execution"]]
    assert faults and {row["oracle"] for row in faults} == {oracle}, run
    assert run.exit_code == (1 if oracle == "inconsistent-exception" else 0), run
    if store is SWALLOWS:
        assert all("about a later call" in row["evidence"] and "/create" in row["evidence"] for row in faults), faults


@pytest.mark.parametrize("file, own", [("test/test.js", True), ("test/helpers/put.js", True), ("lib/put.js", False)])
def test_test_code_is_what_the_runner_lists_and_what_lies_beside_it(project, file, own):
    if not (PACKAGES / "mocha").exists():
        pytest.skip(f"NOT TESTED HERE: mocha is not installed below {PACKAGES} (make test-programs)")
    folder = pathlib.Path(project.directory)
    put = '''
const http = require('http');
exports.put = path => new Promise((ok, no) => {
  const r = http.request({ host: '127.0.0.1', port: process.env.PORT, path, method: 'PUT' }, s => {
    s.resume(); s.on('end', () => s.statusCode < 300 ? ok() : no(new Error('set-up failed'))); });
  r.on('error', no); r.end('{}');
});
'''
    cases = "describe('store', () => { it('accepts a credential', async () => { await put('/a'); }); });\n"
    (folder / "test").mkdir()
    if file == "test/test.js":
        (folder / file).write_text(put + "const put = exports.put;\n" + cases)
    else:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(put)
        (folder / "test" / "test.js").write_text(f"const {{ put }} = require('../{file}');\n" + cases)
    (folder / "node_modules").symlink_to(PACKAGES)
    project.write("package.json", "{}")
    suite(project, runner="mocha", program="node node_modules/mocha/bin/mocha.js")
    run = project.filibuster("suite", "--estimate")
    (test,) = json.loads((project.root / "suite.json").read_text())["tests"]
    if not own:
        assert run.exit_code == 0 and test["call_sites"], run
        return
    # An estimate of nothing is no success, and says why.
    assert run.exit_code == 3 and "there is nothing to do" in run.output, run
    assert "accepts a credential: only its own code makes remote calls" in run.output, run
