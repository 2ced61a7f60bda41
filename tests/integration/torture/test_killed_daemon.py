"""kill -9 of the daemon at each of its fail points (docs/architecture.md), while somebody else asks the services all the
time: they go on as plain programs, nothing hangs, and the same command comes to the result of a run that nobody killed."""
import concurrent.futures
import os
import threading
import urllib.error
import urllib.request

import pytest

import pairs
from conftest import Project, free_port, wait_until
from processes import alive, events, owned
from small_apps import config, probe, relay, url

# Where, and for the how manieth time. The short form has one of each kind: starting, in an execution, in the store.
POINTS = ["session", "starting:2", "services", "registered:3", "planned:5", "executing:4", "executed:5", "handed-off:1",
          "handed-off:3", "recorded:6", "committing:2", "committing:4", "finding", "written:2", "written:4", "reporting", "ended"]
if not os.environ.get("TORTURE"):
    POINTS = ["starting:2", "handed-off:1", "recorded:3"]
FAULTS = ["timeout", "503", "status:500:after"] if os.environ.get("TORTURE") else ["timeout", "503"]
BEFORE_SERVICES = ("session", "starting", "registered", "written")  # not all of them, or none, run when the daemon dies
AFTER_SERVICES = ("reporting",)
AFTER_REFERENCE = ("handed-off", "recorded", "finding")
ASKERS = 4
PAUSE = 0.02  # seconds between two requests of one of them: some are always under way, and the run is not slowed by them


def application(front, beside):
    services = [relay("a"), relay("b"), relay("front", "a", "b", ports={"front": front}, options="--tolerate 1 --timeout 0"),
                relay("far"), relay("beside", "far", ports={"beside": beside})]
    return config(services, [probe(url("front"))], default_faults=False, bounds={"hang_limit": 0.5},
                  faults=[{"on": {"caller": "front"}, "inject": FAULTS}])


def result(run):
    """What a user learns, without what differs from run to run."""
    return (run.exit_code, run.test["finished"], run.executed,
            sorted(sorted((fault["fault"], fault["service"]) for fault in finding["faults"]) for finding in run.test["findings"]))


def get(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class Load:
    """Asks a service all the time, from outside of the application."""

    def __init__(self, port):
        self.port, self.ended, self.answers = port, threading.Event(), []
        self.threads = [threading.Thread(target=self.ask) for _ in range(ASKERS)]

    def ask(self):
        while not self.ended.is_set():
            self.answers.append(get(self.port))
            self.ended.wait(PAUSE)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join(timeout=60)
        assert not any(thread.is_alive() for thread in self.threads), "an answer never came"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The result of a run that nobody kills."""
    project = Project(tmp_path_factory.mktemp("whole"))
    project.write("filibuster.json", application(free_port(), free_port()))
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.test["finished"] and run.executed == (1 + len(FAULTS)) ** 2, run
    return result(run)


def killed(project, point):
    """The run in which the daemon is killed, from its start to the command's end; the services' pids then."""
    process = project.start("run", "--json", env={"FILIBUSTER_FAIL_AT": point})
    seen = list(events(process))
    errors = process.stderr.read()
    assert process.wait(timeout=60) == 3, (point, seen[-3:], errors)
    assert "daemon ended (pid " in errors and "run the same command again to continue" in errors, (errors, seen[-5:])
    return owned(project)


# The daemon is killed in the middle of an execution.
@pairs.only("point", ["handed-off:1"])
@pytest.mark.parametrize("point", POINTS)
def test_a_daemon_killed_there_leaves_plain_programs_and_the_same_command_goes_on(project, whole, point):
    front, beside = free_port(), free_port()
    project.write("filibuster.json", application(front, beside))
    with Load(beside):
        pids = killed(project, point)
        name = point.split(":")[0]
        if name not in BEFORE_SERVICES + AFTER_SERVICES:
            services = {"a", "b", "front", "far", "beside"}
            assert services <= set(pids) and all(alive(pids[service]) for service in services), pids
            # What the daemon held is released; the lease of its last second may still inject.
            if "test" in pids:
                wait_until(lambda: not alive(pids["test"]), "the test of the last execution ends")
            wait_until(lambda: get(front) == 200, "front answers without faults")
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                assert set(pool.map(get, [front] * 100)) == {200}
        project.started[0].wait()
        run = project.filibuster("run")
    if name in AFTER_REFERENCE:
        assert "continuing 'probe'" in run.errors and "anew" not in run.errors, run
    assert result(run) == whole, run
    assert not any(alive(pid) for pid in pids.values()), "those of the killed daemon are ended"
    assert owned(project) == {}
