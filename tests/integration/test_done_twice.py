"""A call that must not be done twice and that its client sends again gets one fault more: the server acts, and its answer does
not come. Where the server does it twice then, and the test passes, that is a finding."""
import pytest

from conftest import PYTHON
from small_apps import config, probe, relay, url

# Orders by POST, or by the method given; a call that fails is made again.
FRONT = '''
import http.client, http.server, sys
port, back, tries, method, key = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
def order():
    connection = http.client.HTTPConnection(back, timeout=1)
    try:
        connection.request(method, "/orders", b'{"item": 1}', {"Idempotency-Key": key[0]} if key else {})
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ordered = any(order() for _ in range(tries))
        self.send_response(200 if ordered else 503)
        self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
'''
EACH = "timeout:after when=1"


def explore(project, *options, tries=2, method="POST", key="", **members):
    project.write("front.py", FRONT)
    front = {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} 127.0.0.1:${{port:back}} {tries} {method} {key}"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")], **members))
    return project.filibuster("run", *options)


def tried(run):
    return {case["name"].rsplit(": ", 1)[1] for case in run.test["cases"]}


def test_a_post_that_is_sent_again_and_done_twice_is_a_finding_although_the_test_passes(project):
    run = explore(project)
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["fault"], fault["method"], fault["path"]) == (EACH, "POST", "/orders"), run
    assert [(one["outcome"], one["grouped_by"]) for one in fault["attempts"]] == [("timeout:after", "first"), ("pass", "same-request")]
    assert finding["first"]["verdict"] == "possible-silent-violation" and finding["reproduced"] is True, run
    assert "the server does a call twice" in run.output and "succeeded at the server by attempt 1 and attempt 2" in run.output, run
    assert any("sent again" in line and EACH in line for line in run.test["fault_configuration"]), run
    # Each of the two attempts, and both: the default set, and at what was sent again the one fault more.
    assert {"refused", "timeout", "status:500", "status:502", "status:503", EACH} == tried(run), run
    replay = project.filibuster("replay", finding["counterexample"])
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


@pytest.mark.parametrize("case", [
    {"tries": 1}, {"method": "PUT"}, {"key": "k1"},
    {"retries": {"mutations": [{"path": "/orders", "idempotent": True}]}},
], ids=["not sent again", "idempotent method", "key", "rule"])
def test_where_nothing_is_sent_again_that_must_not_be_done_twice_nothing_is_said(project, case):
    run = explore(project, **case)
    assert run.exit_code == 0 and run.test["finished"], run
    assert EACH not in tried(run) and EACH not in run.output and "sent again" not in " ".join(run.test["fault_configuration"]), run


def test_a_client_that_orders_two_equal_things_does_so_without_faults_too(project):
    project.write("front.py", FRONT.replace("any(order() for _ in range(tries))", "any([order() for _ in range(tries)])"))
    front = {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} 127.0.0.1:${{port:back}} 2 POST"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--max-faults", "1")
    assert run.exit_code == 0 and EACH in tried(run), run


def test_a_rule_makes_another_method_one_that_must_not_be_done_twice(project):
    run = explore(project, method="PUT", retries={"mutations": [{"method": "PUT", "path": "/orders", "idempotent": False}]})
    assert run.exit_code == 1 and EACH in tried(run), run


@pytest.mark.parametrize("options, members", [
    (["--fault", "503"], {}), ([], {"faults": [{"on": {"method": "POST"}, "inject": ["503"]}]}), ([], {"default_faults": False}),
], ids=["--fault", "rule", "no default set"])
def test_sets_that_are_given_stay_as_they_are(project, options, members):
    run = explore(project, *options, **members)
    assert EACH not in tried(run) and tried(run) <= {"status:503"}, run


def test_an_interrupted_exploration_knows_what_was_sent_again(project):
    options = ["--max-faults", "1", "--max-time", "1h"]
    whole = explore(project, *options)
    # Six single faults, with the reference execution seven; and one in which all attempts fail, which the bound on faults does not hold back.
    assert whole.executed == 8 and len(whole.test["findings"]) == 1, whole
    # The retry was seen in the first part, and the fault that follows from it is tried in a later one.
    run = project.filibuster("run", *options, "--restart-session", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert run.test["time_over"] and run.executed == 2, run
    run = project.filibuster("run", *options)
    assert "continuing" in run.errors and run.executed == whole.executed, run
    assert [one["id"] for one in run.test["findings"]] == [one["id"] for one in whole.test["findings"]], run
