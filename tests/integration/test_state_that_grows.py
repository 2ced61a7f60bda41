"""An application in which a state builds up during the exploration does without faults, in the end, what it did not at first:
the reference execution is run again, and the report says what differs, since when, and what is in doubt."""
import pytest

from conftest import PYTHON
from small_apps import APPS, config, printed, printing, probe, relay, url


def breaker(limit, *options, calls=("back", "other"), **members):
    urls = " ".join(url(name) for name in calls)
    return {"name": "front", "command": f"exec {PYTHON} {APPS}/breaker.py ${{port:front}} {limit} {' '.join(options)} {urls}", **members}


def explore(project, front, *options, faults=("502", "503")):
    project.write("filibuster.json", config([relay("back"), relay("other"), front], [probe(url("front"))]))
    return project.filibuster("run", *(word for fault in faults for word in ("--fault", fault)), *options)


def test_a_breaker_that_opens_during_the_search_is_told(project):
    run = explore(project, breaker(3))
    assert run.exit_code == 3 and run.test["findings"] == [], run
    (drift,) = run.test["reference_again"]["drifts"]
    assert set(drift["what"]) == {"front -> back GET / is made no longer", "front -> other GET / is made no longer"}, run
    # Four single faults, of which the third one opens it; what stands behind it is not there for the fourth.
    assert drift["after"] in range(3, 7) and drift["until"] == 0 and drift["seen"] == run.test["reference_again"]["executions"][-1], run
    assert "THE APPLICATION CHANGED MEANWHILE" in run.output and "front -> back GET / is made no longer" in run.output, run
    assert f"since execution {drift['after'] + 1} at the earliest" in run.output and '"restart": "each"' in run.output, run
    assert any("the application changed during the exploration" in line for line in run.errors.splitlines()), run


def test_a_fresh_start_for_each_execution_leaves_nothing_to_tell(project):
    run = explore(project, breaker(3, restart="each"))
    assert run.exit_code == 0 and run.test["reference_again"]["drifts"] == [] and run.executed == 9, run
    assert "CHANGED" not in run.output and "changed" not in run.errors, run


COUNTING = '''
import http.server, sys, urllib.error, urllib.request
asked = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += 1
        try:
            status = urllib.request.urlopen(sys.argv[2]).status
        except urllib.error.HTTPError:
            status = 503
        body = b"early" if asked <= 2 else b"later"
        self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_an_answer_that_changes_slowly_is_no_change_of_the_application(project):
    """A time in whole seconds may be the same in both reference executions."""
    project.write("counting.py", COUNTING)
    front = {"name": "front", "command": f"exec {PYTHON} counting.py ${{port:front}} {url('back')}"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--fault", "502", "--fault", "503")
    assert run.exit_code == 0 and run.test["reference_again"]["drifts"] == [], run
    (note,) = [note for note in run.test["notes"] if note.startswith("run again without faults")]
    assert "the answer to test -> front GET / is another one" in note and "`nondeterminism`" in note, run


def test_findings_of_the_time_in_which_it_had_changed_are_in_doubt(project):
    """The test looks whether the breaker has opened: what it finds from then on is no fault's."""
    once_open = f"{probe(url('front'))['command'].removeprefix('exec ')}; [ ! -e opened ]"
    project.write("breaker.py", (APPS / "breaker.py").read_text().replace(
        "            passed += 1\n", "            passed += 1\n            open('opened', 'w').close()\n"))
    front = breaker(2)
    front["command"] = front["command"].replace(f"{APPS}/breaker.py", "breaker.py")
    project.write("filibuster.json", config([relay("back"), relay("other"), front], [{"name": "probe", "command": once_open}]))
    run = project.filibuster("run", "--fault", "502", "--fault", "503")
    (drift,) = run.test["reference_again"]["drifts"]
    assert any(what.startswith("the test fails without any fault") for what in drift["what"]), run
    assert drift["findings"] == [finding["id"] for finding in run.test["findings"]
                                 if finding["first"]["execution"] > drift["after"]], run
    if drift["findings"]:
        assert "in doubt: finding " in run.output, run


def test_the_executions_that_look_again_count_in_no_figure(project):
    test = probe(url("front"), expected="200,503")
    project.write("filibuster.json", config([relay("back"), relay("front", "back")],
                                            [{**test, "command": printing(test["command"].removeprefix("exec "))}]))
    run = project.filibuster("run", "--fault", "502", "--fault", "503")
    assert run.exit_code == 0 and run.executed == 3, run
    again = run.test["reference_again"]
    assert len(again["executions"]) == 1 and again["drifts"] == [], run
    assert "3 executions" in run.output and len(printed(run)) == 4, "two without faults, and one with each"


def test_with_one_reference_execution_nothing_is_looked_at_again(project):
    run = explore(project, breaker(3), "--reference-executions", "1")
    assert run.test["reference_again"] == {"executions": [], "drifts": []}, run


@pytest.mark.whole
def test_in_a_long_exploration_it_is_looked_at_now_and_then(project):
    """The breaker opens, and closes again before the end."""
    run = explore(project, breaker(60, "--closes", "150", calls=("back",)), faults=[str(status) for status in range(300, 600)])
    assert len(run.test["reference_again"]["executions"]) >= 2, run
