"""What `filibuster suite` knows of the services that an application calls: which calls read, and which must not be done twice."""
import json
import pathlib

import pytest

from conftest import PYTHON

# It says yes to everything, as a service with an interface of any kind does.
SERVER = '''
import http.server, sys
class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    do_GET = do_PUT = do_POST = do_PATCH = answer
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
'''
# A client that asks again where it hears nothing.
STORE = '''
import os, socket, urllib.error, urllib.request
def call(method, target, fields, body):
    for _ in range(3):
        request = urllib.request.Request("http://127.0.0.1:" + os.environ["PORT"] + target,
                                         body.encode(), fields, method=method)
        try:
            return urllib.request.urlopen(request, timeout=2).read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            pass
    raise TimeoutError("the service does not answer")
'''


def suite(project, calls, retries=None, policy="P1"):
    """One test for each call: (method, target, fields, body)."""
    folder = pathlib.Path(project.directory)
    (folder / "server.py").write_text(SERVER)
    (folder / "store.py").write_text(STORE)
    (folder / "test_store.py").write_text("import store\n" + "".join(
        f"def test_{i}():\n    store.call({method!r}, {target!r}, {fields!r}, {body!r})\n"
        for i, (method, target, fields, body) in enumerate(calls)))
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        **({"retries": retries} if retries else {}),
        "tests": [{"runner": "pytest", "program": f"{PYTHON} -m pytest", "env": {"PORT": "${port:s}"}}]})
    run = project.filibuster("suite", "--policy", policy)
    report = json.loads((project.root / "suite.json").read_text())
    rows = {row["test"].rsplit("test_", 1)[1]: row for row in report["faults"]}
    assert len(rows) == len(calls), run
    for row in rows.values():
        # The first attempt got its fault, and the client asked again.
        assert row["execution"] and row["came"] == ["timeout:after", "pass"], row
    return [rows[str(i)] for i in range(len(calls))], report, run


def target(name):
    return {"X-Amz-Target": name, "Content-Type": "application/x-amz-json-1.0"}


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
AZURE = {"x-ms-version": "2021-12-02"}
READS = [
    ("POST", "/", target("DynamoDB_20120810.Query"), '{"TableName": "t"}'),
    ("POST", "/", target("DynamoDB_20120810.DescribeTable"), '{"TableName": "t"}'),
    ("POST", "/", target("Kinesis_20131202.GetRecords"), '{"ShardIterator": "a"}'),
    ("POST", "/", target("AmazonSQS.ReceiveMessage"), '{"QueueUrl": "http://a/q"}'),
    ("POST", "/", FORM, "Action=GetQueueUrl&Version=2012-11-05&QueueName=q"),
    ("POST", "/c/b?comp=query", AZURE, "<q/>"),
    ("PUT", "/c/b?comp=block&blockid=a", AZURE, "bytes"),
    ("POST", "/b?delete", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, "<Delete/>"),
]
WRITES = [
    ("POST", "/", target("DynamoDB_20120810.UpdateItem"), '{"TableName": "t", "UpdateExpression": "ADD n :one"}'),
    ("POST", "/", target("Kinesis_20131202.PutRecord"), '{"StreamName": "s"}'),
    ("POST", "/", FORM, "Action=SendMessage&Version=2012-11-05&MessageBody=m"),
    ("PUT", "/c/b?comp=appendblock", AZURE, "bytes"),
    ("POST", "/b/k?uploads", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, ""),
]


def test_a_read_that_is_asked_again_does_no_harm(project):
    rows, _, run = suite(project, READS)
    assert {row["oracle"] for row in rows} == {"none"}, run
    assert run.exit_code == 0, run


def test_a_write_that_is_sent_again_is_a_violation_and_is_named(project):
    rows, report, run = suite(project, WRITES)
    assert {row["oracle"] for row in rows} == {"possible-silent-violation"}, run
    assert run.exit_code == 1, run
    assert "POST / (UpdateItem)" in rows[0]["evidence"], rows[0]
    calls = {site["call"] for test in report["tests"] for site in test["call_sites"]}
    assert {"POST / (UpdateItem)", "POST / (SendMessage)", "PUT /c/b"} <= calls, calls


def test_a_rule_names_a_header_field(project):
    charge = ("PUT", "/", {"X-Operation": "Charge"}, "{}")
    look = ("POST", "/", {"X-Operation": "Look"}, "{}")
    other = ("POST", "/", {"X-Other": "Look"}, "{}")
    rows, _, run = suite(project, [charge, look, other], {"mutations": [
        {"header": "x-operation: Ch*", "idempotent": False}, {"header": "X-OPERATION: Look", "idempotent": True}]})
    assert [row["oracle"] for row in rows] == ["possible-silent-violation", "none", "possible-silent-violation"], run


def test_an_error_is_that_of_a_service_which_only_its_header_field_names(project):
    """By the field, P3 knows whose error document a 503 has."""
    folder = pathlib.Path(project.directory)
    (folder / "server.py").write_text(SERVER)
    (folder / "store.py").write_text('''
import os, urllib.error, urllib.request
def call(fields):
    request = urllib.request.Request("http://127.0.0.1:" + os.environ["PORT"] + "/", b"{}", fields)
    try:
        urllib.request.urlopen(request, timeout=2).read()
    except urllib.error.HTTPError as error:
        raise RuntimeError("the service says " + error.read().decode())
''')
    (folder / "test_store.py").write_text(
        f"import store\ndef test_named():\n    store.call({target('DynamoDB_20120810.GetItem')!r})\n"
        "def test_plain():\n    store.call({})\n")
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        "tests": [{"runner": "pytest", "program": f"{PYTHON} -m pytest", "env": {"PORT": "${port:s}"}}]})
    run = project.filibuster("suite", "--policy", "P3")
    said = {row["test"].rsplit("test_", 1)[1]: row["evidence"]
            for row in json.loads((project.root / "suite.json").read_text())["faults"]}
    assert "ServiceUnavailableException" in said["named"], run
    assert "ServiceUnavailableException" not in said["plain"], run
