"""A service that somebody has started with the library is recorded while it runs: its cases are whole, and nobody here replays them."""
import signal

import pytest

from by_hand import ByHand
from conftest import wait_until
from record.test_record import cases
from record.test_record_and_verify import verify
from small_apps import config, relay


@pytest.fixture
def by_hand(project):
    application = ByHand(project.directory)
    yield application
    application.end()


def test_what_comes_to_a_service_that_was_started_by_hand_is_recorded(project, by_hand):
    project.write("filibuster.json", by_hand.configuration())
    process = project.start("record", "--service", "front", "--out", "cases", "--follow")
    wait_until(lambda: (project.directory / "cases/set.json").exists(), "the recording runs")

    def is_recorded():
        by_hand.get()
        return cases(project)

    (case,) = wait_until(is_recorded, "a case is written")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 3 and "has not been replayed, since front runs already, and was not started here" in output, (output, errors)
    assert f"at 127.0.0.1:{by_hand.ports['front']} until Ctrl-C" in errors, errors
    assert [(call["to"], call["method"], call["answer"]["status"]) for call in case["calls"]] == [("back", "GET", 200)], case
    assert not cases(project, partial=True), output
    by_hand.end()
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [{"name": "none", "command": "false"}]))
    run, found = verify(project)
    assert run.exit_code == 0 and [row["judged"] for row in found["cases"]] == ["passed"], run


def test_traffic_is_recorded_and_who_wants_no_replay_has_none_missing(project, by_hand):
    project.write("filibuster.json", by_hand.configuration())
    project.write("traffic.sh", f"curl -s -o /dev/null http://127.0.0.1:{by_hand.ports['front']}/one")
    run = project.filibuster("record", "-c", "filibuster.json", "--service", "front", "--out", "cases", "--no-admission", "--", "sh", "traffic.sh")
    assert run.exit_code == 0 and [len(case["calls"]) for case in cases(project)] == [1], run
    assert by_hand.get(), "it goes on"


def test_a_service_that_does_not_take_part_is_named(project):
    project.write("filibuster.json", config([{"name": "front", "ports": {"front": 9}}], [{"name": "none", "command": "false"}]))
    run = project.filibuster("record", "--service", "front", "--out", "cases", "--follow", "--for", "1s")
    assert run.exit_code == 3 and "no process of front has taken part: it was not started with the library" in run.output, run
