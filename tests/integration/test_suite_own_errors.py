"""Calls that a server answers with an error by itself, and that get the errors of P3 where the application expects that."""
import json
import pathlib

import pytest

from conftest import PYTHON

# What is there once is a conflict the next time; what is not there is not found. `POST /clear` makes it all new.
SERVER = '''
import http.server, sys
there = set()
class Store(http.server.BaseHTTPRequestHandler):
    def answer(self, status):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_HEAD(self):
        self.answer(200 if self.path in there else 404)
    def do_PUT(self):
        self.answer(409 if self.path in there else 201)
        there.add(self.path)
    def do_POST(self):
        there.clear()
        there.add("/taken")
        self.answer(200)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
'''
# It raises an exception for each answer that is an error, as client libraries do.
SDK = '''
import os, urllib.error, urllib.request
class ServiceError(Exception): pass
class Conflict(ServiceError): pass
class Missing(ServiceError): pass
def call(method, path):
    request = urllib.request.Request("http://127.0.0.1:" + os.environ["PORT"] + path, method=method)
    try:
        return urllib.request.urlopen(request, timeout=5).status
    except urllib.error.HTTPError as error:
        raise {404: Missing, 409: Conflict}.get(error.code, ServiceError)(f"HTTP {error.code}") from None
'''
STORE = '''
from sdk import Conflict, Missing, ServiceError, call
def create_if_not_exists(path):
    try:
        call("PUT", path)
    except Conflict:
        pass
def save(path):
    create_if_not_exists("/taken")
    call("PUT", path)
def save_new(path):
    try:
        call("HEAD", path)
    except Missing:
        call("PUT", path)
# Another error than the expected one has no entry.
def save_by_code(path):
    try:
        call("HEAD", path)
    except ServiceError as error:
        {"HTTP 404": "it is new"}.get(str(error)).upper()
    call("PUT", path)
def status_of(path):
    try:
        return call("HEAD", path)
    except Missing:
        return 404
def clear():
    call("POST", "/clear")
def create(path):
    call("PUT", path)
'''
TEST = '''
import pytest, store
@pytest.fixture(autouse=True)
def fresh():
    store.clear()
    yield
    store.clear()
'''


def suite(project, body, *arguments):
    folder = pathlib.Path(project.directory)
    (folder / "server.py").write_text(SERVER)
    (folder / "lib/python3/site-packages").mkdir(parents=True)
    (folder / "lib/python3/site-packages/sdk.py").write_text(SDK)
    (folder / "store.py").write_text(STORE)
    (folder / "test_store.py").write_text(TEST + body)
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        "tests": [{"runner": "pytest", "program": f"{PYTHON} -m pytest", "env": {"PORT": "${port:s}", "PYTHONPATH": "lib/python3/site-packages"}}]})
    run = project.filibuster("suite", *arguments)
    report = json.loads((project.root / "suite.json").read_text())
    (test,) = report["tests"]
    sites = {site["call"]: site for site in test["call_sites"]}
    return sites, report["faults"], run


def policies_at(faults, site):
    return {row["policy"]: row for row in faults if row["call_site"] == site["call_site"]}


@pytest.mark.parametrize("body, call, error", [
    ('def test_save():\n    store.save("/a")\n', "PUT /taken", "409"),
    ('def test_save():\n    store.save_new("/a")\n', "HEAD /a", "404"),
    ('def test_save():\n    store.create_if_not_exists("/taken")\n    store.create("/a")\n', "PUT /taken", "409"),
], ids=["create-if-not-exists", "look-then-create", "next-statement"])
def test_p3_is_tried_where_the_application_goes_on_after_an_error(project, body, call, error):
    # All policies, where each can be seen to be left out or not.
    sites, faults, run = suite(project, body)
    assert sites[call]["own_error"] == error and not sites[call]["why_not"], sites
    rows = policies_at(faults, sites[call])
    assert set(rows) == {"P3"} and rows["P3"]["execution"], run
    assert rows["P3"]["came"] == ["status:503"], rows
    assert rows["P3"]["oracle"] == "consistent-exception", rows
    assert run.exit_code == 0, run


@pytest.mark.parametrize("body, call", [
    ('def test_conflict():\n    with pytest.raises(store.Conflict):\n        store.create("/taken")\n', "PUT /taken"),
    ('def test_missing():\n    assert store.status_of("/a") == 404\n', "HEAD /a"),
], ids=["raises", "asserts"])
def test_nothing_is_tried_where_the_test_ends_by_the_error(project, body, call):
    """What tears the test down follows, and does not count."""
    sites, faults, run = suite(project, body, "--policy", "P3")
    assert sites[call]["own_error"] == "", sites
    assert "after which the application does not go on" in sites[call]["why_not"], sites
    assert not policies_at(faults, sites[call]), run


def test_a_call_that_succeeds_elsewhere_in_the_test_stands_for_its_call_site(project):
    """It gets all policies, as if there were no error."""
    sites, faults, _ = suite(project, '''
def test_save():
    for path in ("/taken", "/a"):
        store.create_if_not_exists(path)
''', "--policy", "P1,P3")
    (site,) = [site for call, site in sites.items() if call == "PUT /taken"]
    assert site["own_error"] == "" and set(policies_at(faults, site)) == {"P1", "P3"}, sites


def test_without_a_policy_that_fits_the_call_site_says_so(project):
    sites, faults, run = suite(project, 'def test_save():\n    store.save("/a")\n', "--policy", "P1")
    assert "P3" in sites["PUT /taken"]["why_not"], sites
    assert faults and not policies_at(faults, sites["PUT /taken"]), run


def test_an_application_that_knows_no_other_error_than_the_expected_one_is_found(project):
    sites, faults, run = suite(project, 'def test_save():\n    store.save_by_code("/a")\n', "--policy", "P3")
    row = policies_at(faults, sites["HEAD /a"])["P3"]
    assert row["oracle"] == "inconsistent-exception" and "AttributeError" in row["evidence"], run
    assert run.exit_code == 1, run
