"""Server-sent events: what comes in parts with pauses is recorded and answered in these, with what follows the last one."""
import json
import pathlib

import pytest

from conftest import PYTHON
from record.test_record import cases, get, record
from record.test_record_and_verify import verify
from small_apps import config

EVENTS = pathlib.Path(__file__).parent / "programs/events.py"


def configure(project, bug=""):
    project.write("filibuster.json", config(
        [{"name": "pricing", "command": f"exec {PYTHON} {EVENTS} pricing ${{port:pricing}}"},
         {"name": "orders", "command": f"exec {PYTHON} {EVENTS} orders ${{port:orders}} 127.0.0.1:${{port:pricing}} {bug}"}],
        [{"name": "none", "command": "false"}]))


@pytest.fixture
def events(project):
    configure(project)
    assert record(project, get("/watch", "-N"), options=("--no-admission",)).exit_code == 0
    return project


def test_events_are_recorded_in_parts_and_pass(events):
    (case,) = cases(events)
    for answer in (case["answer"], case["calls"][0]["answer"]):
        assert answer["text"].count("data: ") == 3 and answer["trailers"] == [["X-Count", "3"]], case
    pieces = case["calls"][0]["answer"]["pieces"]
    # On a busy machine two of them may have come before the service read the first one.
    event = len("data: 0\n\n")
    assert sum(size for size, _ in pieces) == 3 * event and all(size % event == 0 for size, _ in pieces), pieces
    assert len(pieces) > 1 and all(gap >= 10 for _, gap in pieces[1:]), pieces
    run, found = verify(events)
    assert run.exit_code == 0 and [row["served"] for row in found["cases"]] == [1], run
    assert verify(events, "--real-gaps")[0].exit_code == 0


def test_an_event_that_is_not_passed_on_is_seen(events):
    configure(events, "drop")
    run, found = verify(events)
    (row,) = found["cases"]
    assert run.exit_code == 1 and row["differences"][0]["kind"] == "answer", (run, json.dumps(found))
