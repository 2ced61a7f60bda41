"""Services that are reached from outside are recorded as others are: one that runs already, whose cases nobody here can replay, and one in Go
that is started for its replays, too."""
import json
import pathlib
import signal
import subprocess
import sys
import urllib.request

import pytest

from conftest import BUILD, FILIBUSTER, wait_until
from record.test_record import cases, files
from record.test_record_and_verify import verify
from small_apps import config, relay, url

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attach"))
from attach_fixtures import BASIC, need, skip  # noqa: E402
from running import run_already  # noqa: E402, F401

pytestmark = pytest.mark.alone

NONE = [{"name": "none", "command": "false"}]


@pytest.fixture(scope="module", autouse=True)
def kernel():
    need(*BASIC)


def pair(**front):
    return config([relay("back"), relay("front", "back", **front)], NONE)


def record(project, *requests, options=()):
    project.write("traffic.sh", "\n".join(f"curl -s -o /dev/null http://127.0.0.1:$PORT_FRONT{path}" for path in requests))
    return project.filibuster("record", "-c", "filibuster.json", "--service", "front", "--out", "cases", *options, "--", "sh", "traffic.sh")


@pytest.mark.parametrize("python", [False, True], ids=["native", "python"])
def test_a_service_that_runs_already_is_recorded_and_replayed_by_its_command(project, run_already, python):  # noqa: F811
    running = run_already(pair(python=python))
    project.write("filibuster.json", running.attached())
    run = record(project, "/one", "/two?x=1", "/one")
    assert run.exit_code == 3 and running.unharmed, run
    assert sorted(case["request"]["target"] for case in cases(project)) == ["/one", "/two?x=1"], run.output
    for case in cases(project):
        (call,) = case["calls"]
        assert (call["to"], call["method"], call["answer"]["status"]) == ("back", "GET", 200) and "json" in call["answer"], case
        assert "draws" not in case and not any("filibuster" in name.lower() for name, _ in call.get("headers", [])), case
    assert "environment" not in json.loads(files(project)["set.json"])
    how = "these 2 cases have not been replayed, since front runs already, and was not started here: `filibuster verify "
    assert how in run.output and " --service front='COMMAND'` shows which of them pass" in run.output, run
    project.write("filibuster.json", pair(python=python))
    verified, found = verify(project)
    assert verified.exit_code == 0 and len(found["cases"]) == 2, verified


def test_without_admission_nothing_is_missing(project, run_already):  # noqa: F811
    running = run_already(pair())
    project.write("filibuster.json", running.attached())
    run = record(project, "/one", options=["--no-admission"])
    assert run.exit_code == 0 and len(cases(project)) == 1 and "replayed" not in run.output, run


def test_what_comes_is_recorded_until_ctrl_c(project, run_already):  # noqa: F811
    running = run_already(pair())
    project.write("filibuster.json", running.attached())
    process = project.start("record", "--service", "front", "--out", "cases", "--follow")
    wait_until(lambda: (project.directory / "cases/set.json").exists(), "the recording runs")

    def is_recorded():
        urllib.request.urlopen(f"http://127.0.0.1:{running.ports['front']}/three", timeout=30).read()
        return cases(project)

    (case,) = wait_until(is_recorded, "a case is written")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 3 and "this case has not been replayed, since front runs already" in output, (output, errors)
    assert [call["to"] for call in case["calls"]] == ["back"] and not cases(project, partial=True), case
    assert running.unharmed


def test_a_program_in_go_is_recorded_and_starts_alone_for_its_replays(project):
    need("uprobe")
    front = BUILD / "tests/go/front"
    if not front.exists():
        skip("Go programs", "golang is missing: apt-get install golang-go")
    services = [relay("back"), {"name": "front", "command": f"exec {front} ${{port:front}} {url('back')}", "interpose": "bpf"}]
    project.write("filibuster.json", config(services, NONE))
    run = record(project, "/one", "/two")
    assert run.exit_code == 0 and "kept 2 cases, which replay" in run.output, run
    for case in cases(project):
        assert [call["target"] for call in case["calls"]] == ["/first", "/second"] and all(call["site"] for call in case["calls"]), case
        assert "after" not in case["calls"][1], "the second call waits for the answer to the first one"
    # Nobody moves its clocks, so nobody says that the time has no effect.
    assert "the time of the recording is not shown: it is reached from outside" in run.output, run
    assert "time" not in json.loads(files(project)["set.json"]), run
    assert any("main.firstCall" in " ".join(point["stack"]) for point in json.loads(files(project)["set.json"])["points"])
    verified, found = verify(project)
    assert verified.exit_code == 0 and [row["served"] for row in found["cases"]] == [2, 2], verified
    path = next((project.directory / "cases").glob("get-*/*.json"))
    path.write_text(path.read_text().replace("/second", "/third"))
    subprocess.run([FILIBUSTER, "cases", "accept", path], check=True, timeout=60)
    verified, _ = verify(project)
    assert verified.exit_code == 1 and "front" in verified.output, verified
