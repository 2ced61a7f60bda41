"""Processes that leave the group in which they were started: daemons of a test, children of a service in sessions of
their own. They end with their lane, and after a daemon that was killed the next run ends them."""
import json
import os
import signal
import subprocess

import pytest

from conftest import PROGRAMS, PYTHON, wait_until
from processes import alive, events
from small_apps import config, held, pair, probe, relay, url

LEAVES = PROGRAMS / "leaves"


def pid_in(project, name):
    return int((project.directory / name).read_text())


def leaving(mode, name, test):
    """`test`, which leaves a process behind in its first execution, and wants it to go on in the others."""
    first = f"if [ -e {name} ]; then kill -0 $(cat {name}) || exit 9; else {LEAVES} {mode} {name} || exit 9; fi; "
    return {**test, "command": first + test["command"]}


@pytest.fixture
def bystander():
    """A program of the same user that nobody here started."""
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("mode", ["daemon", "stubborn", "bare"])
def test_a_daemon_of_a_test_ends_with_the_lane_and_not_before(project, bystander, mode):
    made = pair(faults=[{"inject": ["503", "refused"]}])
    made["tests"] = [leaving(mode, "left", made["tests"][0])]
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 3, run
    assert not alive(pid_in(project, "left"))
    assert bystander.poll() is None


def test_what_a_lane_started_ends_with_that_lane(project):
    """Each lane has a daemon of its own."""
    made = pair(faults=[{"inject": ["503", "refused"]}])
    made["tests"] = [leaving("daemon", "left-$FILIBUSTER_LANE", made["tests"][0])]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "-j", "2")
    assert run.exit_code == 0 and run.executed == 3, run
    left = sorted(project.directory.glob("left-*"))
    assert left and not any(alive(int(path.read_text())) for path in left)


# A daemon of a test that goes on at SIGTERM is in the tests above and below.
@pytest.mark.whole
def test_a_service_that_goes_on_at_sigterm_ends_with_its_children(project):
    """The child leads a session of its own, and holds the port: the next process of the service needs it."""
    stubborn = {"name": "stubborn", "command": f"exec {LEAVES} serve ${{port:stubborn}} child-$$", "restart": "each",
                "third_party": True, "ready": {"tcp": True}}
    made = pair(faults=[{"inject": "503"}])
    made["services"].append(stubborn)
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    children = [int(path.read_text()) for path in project.directory.glob("child-*")]
    assert len(children) >= 2
    assert not any(alive(pid) for pid in children)


def test_the_next_run_ends_what_a_killed_daemon_left(project, bystander):
    made = config([relay("back"), relay("front", "back"),
                   {"name": "stubborn", "command": f"exec {LEAVES} serve ${{port:stubborn}} child", "third_party": True,
                    "ready": {"tcp": True}}],
                  [probe(url("front"), expected="200,503")], faults=[{"inject": ["503", "refused"]}])
    modes = ("daemon", "stubborn", "bare")
    # The reference execution leaves them; the one after it waits, and the daemon is killed meanwhile.
    test = held(made["tests"][0], 2)
    for mode in modes:
        test = leaving(mode, f"left-{mode}", test)
    made["tests"] = [test]
    project.write("filibuster.json", made)
    hold = project.write("hold", "")
    process = project.start("run", "--json")
    wait_until(lambda: all((project.directory / f"left-{mode}").exists() for mode in modes), "the test has left its processes")
    left = [pid_in(project, f"left-{mode}") for mode in modes]
    left.append(pid_in(project, "child"))

    def is_recorded():
        text = (project.root / "processes.json").read_text()
        return any(row["pid"] == left[2] for row in json.loads(text)["processes"])
    wait_until(is_recorded, "the orphan without a mark is written down")
    os.kill(project.daemon()["pid"], signal.SIGKILL)
    for _ in events(process):
        pass
    assert process.wait(timeout=60) == 3
    assert all(alive(pid) for pid in left)
    hold.unlink()
    made["tests"][0]["command"] = probe(url("front"), expected="200,503")["command"]
    project.write("filibuster.json", made)
    run = project.filibuster("trace", "--json")
    assert run.exit_code == 0, run
    told = [event["text"] for event in map(json.loads, run.output.splitlines()[:-1]) if event["type"] == "warning"]
    assert all(any(f"(pid {pid})" in text and "left behind" in text for text in told) for pid in left), told
    assert not any(alive(pid) for pid in left)
    assert bystander.poll() is None


def test_an_orphan_of_a_test_is_not_taken_for_the_test(project):
    """Its parent is the daemon, as that of the test is, and it connects first: what is forked is the test all the same."""
    project.write("orphan.py", "import os, pathlib, socket, urllib.parse as p\n"
                  "socket.create_connection(('127.0.0.1', p.urlsplit(os.environ['FILIBUSTER_URL']).port)).close()\n"
                  "pathlib.Path('done').touch()\n")
    made = pair(faults=[{"inject": ["503", "refused"]}], snapshots=True)
    made["tests"][0]["command"] = (f"rm -f done; {LEAVES} orphan {PYTHON} orphan.py; "
                                   "until [ -e done ]; do sleep 0.01; done; ") + made["tests"][0]["command"]
    project.write("filibuster.json", made)
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and run.executed == 3, run
    assert run.test["start"]["way"] == "reset", run.test["start"]
