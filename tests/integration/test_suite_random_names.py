"""Suites whose calls have names that are random: in concurrent calls, in whole paths, and where it is seen late that they vary."""
import json
import pathlib
import re

from conftest import PYTHON

SERVER = '''
import http.server, sys
class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_POST = do_PUT
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
'''
STORE = '''
import concurrent.futures, http.client, os, pathlib, threading, urllib.error, urllib.request, uuid
def send(method, path):
    request = urllib.request.Request("http://127.0.0.1:" + os.environ["PORT"] + path, b"{}", method=method)
    urllib.request.urlopen(request, timeout=5).read()
# All requests have left before an answer is waited for: one that began behind a failed one would look like its attempt.
def send_at_once(method, path, gate):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=5)
    connection.request(method, path, b"{}")
    gate.wait()
    answer = connection.getresponse()
    if answer.status >= 400:
        raise urllib.error.HTTPError(path, answer.status, "failed", answer.headers, None)
def random_name():
    return str(uuid.uuid4())
def save_at_once(count, prefix):
    gate = threading.Barrier(count)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(send_at_once, "PUT", prefix + random_name(), gate) for _ in range(count)]:
            done.result()
# An item that cannot be saved is left out.
def add_all(count):
    for _ in range(count):
        try:
            send("POST", "/items/" + random_name())
        except OSError:
            pass
def add_persistently():
    for _ in range(3):
        try:
            return send("POST", "/items/" + random_name())
        except OSError:
            pass
# Another name is taken after each second run.
def save_by_turns():
    runs = pathlib.Path("runs")
    number = int(runs.read_text()) if runs.exists() else 0
    runs.write_text(str(number + 1))
    send("PUT", f"/turns/{number // 2}")
'''


def suite(project, body, *arguments, **members):
    folder = pathlib.Path(project.directory)
    (folder / "server.py").write_text(SERVER)
    (folder / "store.py").write_text(STORE)
    (folder / "test_store.py").write_text("import store\ndef test_it():\n    " + body + "\n")
    (folder / "runs").unlink(missing_ok=True)
    project.write("filibuster.json", {
        "version": 1, "services": [{"name": "s", "command": f"exec {PYTHON} server.py ${{port:s}}"}],
        "tests": [{"runner": "pytest", "program": f"{PYTHON} -m pytest", "env": {"PORT": "${port:s}"}}], **members})
    run = project.filibuster("suite", *arguments)
    report = json.loads((project.root / "suite.json").read_text())
    (test,) = report["tests"]
    return test["call_sites"], report, run


def test_the_first_of_concurrent_calls_gets_its_fault(project):
    sites, report, run = suite(project, 'store.save_at_once(3, "/items/")', "--policy", "P1,P3")
    assert [(site["calls"], site["why_not"]) for site in sites] == [(3, "")], sites
    rows = {row["policy"]: row for row in report["faults"]}
    assert set(rows) == {"P1", "P3"}, run
    for policy, fault in (("P1", "timeout:after"), ("P3", "status:503")):
        assert rows[policy]["execution"] and rows[policy]["came"][0] == fault, rows
        assert rows[policy]["oracle"] == "consistent-exception", rows


def test_a_whole_path_may_be_random(project):
    """Also in a counterexample, and its replay finds the call again."""
    sites, report, run = suite(
        project, '\n    '.join(('import pytest', 'with pytest.raises(ValueError):', '    store.send("PUT", "/" + store.random_name())',
                                '    raise ValueError')), "--policy", "P3", retries={"strict_system_tests": True,
                                                                                         "system_tests": ["*"]})
    assert [site["why_not"] for site in sites] == [""], sites
    (row,) = report["faults"]
    assert row["execution"] and row["came"] == ["status:503"], run
    (cluster,) = report["clusters"]
    assert cluster["reproduced"] is True, run
    replay = project.filibuster("replay", cluster["counterexample"])
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_other_calls_with_random_names_are_no_attempts_of_the_faulted_one(project):
    """The calls after the one that failed look like its attempts, and the server has added no more than without a fault."""
    _, report, run = suite(project, "store.add_all(3)", "--policy", "P1")
    (row,) = report["faults"]
    assert row["execution"] and row["oracle"] == "none" and run.exit_code == 0, run


def test_an_attempt_with_another_random_name_is_a_violation(project):
    _, report, run = suite(project, "store.add_persistently()", "--policy", "P1")
    (row,) = report["faults"]
    assert row["oracle"] == "possible-silent-violation" and run.exit_code == 1, run


def test_what_varies_later_is_named_with_a_rule_that_helps(project):
    _, report, run = suite(project, "store.save_by_turns()", "--policy", "P3")
    (row,) = report["faults"]
    assert row["execution"] is None and run.exit_code == 3, run
    rule = json.loads(re.search(r"a rule of 'nondeterminism' helps: (\{.*\})", row["skipped"]).group(1))
    assert rule == {"on": {"caller": "test", "service": "s", "method": "PUT", "path": "/turns/*"}, "mask": {"path": [2]}}
    _, report, run = suite(project, "store.save_by_turns()", "--policy", "P3", nondeterminism=[rule])
    (row,) = report["faults"]
    assert row["execution"] and row["came"] == ["status:503"], run
