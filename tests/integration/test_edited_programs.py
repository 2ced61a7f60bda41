"""A program that was edited since it was explored: its findings keep their ids, and a replay finds the calls again."""
import json

import pytest

from conftest import PYTHON
from small_apps import config, probe, relay, url

# Asks back, and spare where that fails; fails only if both do.
FRONT = '''
import http.client, http.server, os, sys
def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=5)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        response.read()
        return response.status == 200
    except OSError:
        return False
    finally:
        connection.close()
def answer():
    return 200 if ask(sys.argv[2]) or ask(sys.argv[3]) else 500
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = answer() if self.path == "/" else 200
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def explore(project, program=FRONT):
    project.write("front.py", program)
    front = {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:back}} ${{port:spare}}",
             "ready": {"http": "/health"}}
    project.write("filibuster.json", config([relay("back"), relay("spare"), front], [probe(url("front"), expected="200")],
                                            faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.executed == 3, run
    (finding,) = run.test["findings"]
    assert [fault["service"] for fault in finding["faults"]] == ["back", "spare"], finding
    return finding


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


MOVED = "import json\n\n\n" + FRONT
RENAMED = edited(edited(FRONT, "def answer():", "def decide():"), "answer() if", "decide() if")
# One more call like the first one, in the same function: which of the two it was nobody knows.
TWICE = edited(MOVED, "if ask(sys.argv[2]) or", "if ask(sys.argv[2]) and ask(sys.argv[2]) or")


def test_a_replay_finds_calls_that_have_moved_and_says_where(project):
    finding = explore(project)
    project.write("front.py", MOVED)
    replay = project.filibuster("replay", finding["counterexample"])
    assert replay.exit_code == 1 and "reproduced: exit status 1" in replay.output, replay
    lines = [line.split(", ", 1)[1] for line in replay.errors.splitlines() if line.startswith("  front -> ")]
    front = project.directory / "front.py"
    assert lines == [f"at {front}:9 (ask), then at {front}:6 (ask)"] * 2, replay

    project.write("front.py", edited(MOVED, "else 500", "else 200"))
    replay = project.filibuster("replay", finding["counterexample"])
    assert replay.exit_code == 0 and "not reproduced" in replay.output, replay


@pytest.mark.parametrize("program", [RENAMED, TWICE], ids=["another function", "one more like it"])
def test_a_replay_takes_no_other_call_for_the_one_that_it_wants(project, program):
    finding = explore(project)
    project.write("front.py", program)
    replay = project.filibuster("replay", finding["counterexample"])
    assert replay.exit_code == 3 and "plan not met" in replay.output, replay
    assert "found in it" not in replay.errors, replay


def test_a_finding_keeps_its_id_when_lines_move_and_gets_another_when_it_is_another(project):
    first = explore(project)
    assert len(first["id"]) == 16
    moved, renamed = explore(project, MOVED), explore(project, RENAMED)
    assert [fault["index"] for fault in moved["faults"]] != [fault["index"] for fault in first["faults"]]
    assert moved["id"] == first["id"] != renamed["id"]
    assert [fault["identity"] for fault in moved["faults"]] == [fault["identity"] for fault in first["faults"]]


def test_a_counterexample_of_before_there_were_identities_is_replayed_as_it_was(project):
    counterexample = project.write("old.json", json.loads(open(explore(project)["counterexample"]).read()))
    old = json.loads(counterexample.read_text())
    for fault in old["faults"]:
        del fault["identity"], fault["alike"]
    project.write("old.json", old)
    assert project.filibuster("replay", counterexample).exit_code == 1
    project.write("front.py", MOVED)
    assert project.filibuster("replay", counterexample).exit_code == 3
