"""Ctrl-C, a killed command line, a killed daemon: nothing is left running, and the same command continues."""
import json
import os
import signal
import urllib.error
import urllib.request

from conftest import free_port, wait_until
from processes import alive, events, executed_ids, owned
from small_apps import config, held, pair, probe, relay, url

HELD = 12  # an execution: more than the interruptions wait for, fewer than an exploration has


def chain(*names, options="", faults=("refused", "500", "502", "503"), expected="200,503"):
    """front calls each of `names`, all of them soft: many combinations."""
    return config([*(relay(name) for name in names), relay("front", *names, options=options)],
                  [held(probe(url("front"), expected=expected), HELD)],
                  faults=[{"inject": list(faults)}])


def test_ctrl_c_stops_the_services_and_the_same_command_continues(project):
    project.write("filibuster.json", chain("a", "b", options="--tolerate 9"))
    whole = project.filibuster("run", "--no-reduction")
    assert whole.exit_code == 0 and whole.executed == 25, whole

    hold = project.write("hold", "")
    process = project.start("run", "--no-reduction", "--json")
    first = []
    for event in events(process):
        first.append(event)
        if event["type"] == "execution" and event["executed"] >= 5:
            pids = owned(project)
            process.send_signal(signal.SIGINT)
            break
    first += list(events(process))
    assert process.wait(timeout=30) == 3
    assert {"a", "b", "front"} <= set(pids)
    wait_until(lambda: not any(alive(pid) for pid in pids.values()), "the services are gone")
    wait_until(lambda: not (project.root / "daemon.json").exists(), "the daemon is gone")
    assert "continues" in first[-1]["summary"], first[-1]
    before = executed_ids(first)
    assert 5 <= len(before) + 1 < 25

    hold.unlink()
    process = project.start("run", "--no-reduction", "--json")
    second = list(events(process))
    assert process.wait(timeout=60) == 0
    assert any(event["type"] == "session" and event["resumed"] for event in second)
    after = executed_ids(second)
    # The reference execution is no `execution` event, and is made once more to see that all is well.
    assert 1 + len(before) + len(after) == 25
    assert set(before).isdisjoint(after) and len(set(before + after)) == 24
    assert json.loads((project.root / "report.json").read_text())["tests"][0]["counts"]["executed"] == 25


def test_ctrl_c_says_how_to_go_on(project):
    project.write("filibuster.json", chain("a", "b", options="--tolerate 9"))
    project.write("hold", "")
    process = project.start("run", "--no-reduction")
    said = []
    for line in process.stderr:
        said.append(line)
        if " executions, " in line:
            process.send_signal(signal.SIGINT)
            break
    said += process.stderr.readlines()
    output = process.stdout.read()
    assert process.wait(timeout=30) == 3
    assert "run the same command again to continue" in "".join(said)
    assert "NOT FINISHED" in output and "continues" in output


def test_ctrl_c_while_a_service_starts_ends_it(project):
    project.write("filibuster.json", config(
        [{"name": "slow", "command": "exec sleep 300", "ready": {"tcp": True, "timeout": 60}}],
        [probe(url("slow"))]))
    process = project.start("run", "--json")
    pids = wait_until(lambda: owned(project), "the service was started")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 3
    assert not alive(pids["slow"])


def test_a_killed_command_line_takes_its_daemon_and_the_services_with_it(project):
    made = chain("a", "b", options="--tolerate 9")
    # A service of several processes: all of them belong to the session.
    made["services"][0]["command"] = "sleep 300 & echo $! > child; " + made["services"][0]["command"]
    project.write("filibuster.json", made)
    hold = project.write("hold", "")
    process = project.start("run", "--no-reduction", "--json")
    for event in events(process):
        if event["type"] == "execution":
            break
    daemon, pids = project.daemon()["pid"], owned(project)
    child = int((project.directory / "child").read_text())
    process.kill()
    process.wait()
    assert {"a", "b", "front"} <= set(pids)
    wait_until(lambda: not any(alive(pid) for pid in [daemon, child, *pids.values()]), "all of them are gone")
    hold.unlink()
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and "continuing 'probe'" in run.errors and run.executed == 25, run


def test_ctrl_c_does_not_wait_for_the_preparation_of_an_execution(project):
    made = pair(hooks={"before_execution": "echo $$ > pid; exec sleep 300"})
    project.write("filibuster.json", made)
    process = project.start("run")
    written = project.directory / "pid"
    wait_until(lambda: written.exists() and written.read_text().endswith("\n"), "the hook runs")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 3
    assert not alive(int(written.read_text()))
    assert "run the same command again to continue" in process.stderr.read()


def test_a_second_ctrl_c_leaves_at_once(project):
    made = pair(faults=[{"inject": "503"}])
    made["tests"][0]["command"] = "touch started; exec sleep 300"
    made["hooks"] = {"after_execution": "touch after; until [ -e go ]; do sleep 0.01; done"}
    project.write("filibuster.json", made)
    process = project.start("run")
    wait_until(lambda: (project.directory / "started").exists(), "the test runs")
    wait_until(lambda: "test" in owned(project), "it is written down")
    pids = owned(project)
    process.send_signal(signal.SIGINT)
    # The test was ended; now a hook of the user keeps the session from its end.
    wait_until(lambda: (project.directory / "after").exists(), "the hook runs")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 3
    assert "Ctrl-C again leaves at once" in process.stderr.read()
    assert {"back", "front", "test"} <= set(pids)
    project.write("go", "")
    wait_until(lambda: not any(alive(pid) for pid in pids.values()), "services and test are gone")


def get(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_killed_daemon_leaves_services_without_faults_and_the_same_command_continues(project):
    front = free_port()
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("front", "a", "b", ports={"front": front}, options="--tolerate 9")],
        [held(probe(url("front")), HELD)], faults=[{"inject": ["refused", "500", "503"]}]))
    hold = project.write("hold", "")
    process = project.start("run", "--no-reduction", "--json")
    first = []
    for event in events(process):
        first.append(event)
        if event["type"] == "execution" and event["executed"] >= 8:
            break
    daemon, pids = project.daemon()["pid"], owned(project)
    os.kill(daemon, signal.SIGKILL)
    first += list(events(process))
    assert process.wait(timeout=30) == 3
    assert f"daemon ended (pid {daemon}); run the same command again to continue" in process.stderr.read()
    services = ("a", "b", "front")
    assert all(alive(pids[name]) for name in services)

    def serves():
        with urllib.request.urlopen(f"http://127.0.0.1:{front}/", timeout=30) as response:
            return json.load(response) == {"failed": 0}
    # Within its last second the lease may still hold.
    wait_until(serves, "the services answer without faults", timeout=10)
    assert [serves() for _ in range(20)] == [True] * 20

    held_test = owned(project).get("test")  # of the execution in which the daemon died: it has nothing more to say
    if held_test and alive(held_test):
        os.killpg(held_test, signal.SIGKILL)
    hold.unlink()
    process = project.start("run", "--no-reduction", "--json")
    second = list(events(process))
    assert process.wait(timeout=60) == 0, process.stderr.read()
    assert any(event["type"] == "session" and event["resumed"] for event in second)
    ended = [event["text"] for event in second if event["type"] == "warning" and "left behind" in event["text"]]
    assert all(any(f"{name} (pid {pids[name]})" in text for text in ended) for name in services)
    assert not any(alive(pids[name]) for name in services)
    # 1 + 3 for a + 3 for b + 9 for both. Executed again is what was not stored yet: what began in the last 10 ms, of which an execution
    # takes some; and what was stored may not have been told.
    before, after = executed_ids(first), executed_ids(second)
    (report,) = json.loads((project.root / "report.json").read_text())["tests"]
    assert report["finished"] and report["counts"]["executed"] == 16
    assert len(set(before + after)) <= 15
    told = [event for event in second if event["type"] not in ("service", "execution")]
    assert len(after) < 15 and len(set(before) & set(after)) <= 4, (before, after, told)


def test_a_call_that_a_fault_holds_is_released_when_the_daemon_dies(project):
    front = free_port()
    services = [relay("back"), relay("front", "back", ports={"front": front}, options="--timeout 0")]
    project.write("filibuster.json", config(
        services, [probe(url("front"), expected="200,503")], faults=[{"inject": "timeout"}],
        bounds={"hang_limit": 60}))
    run = project.start("run")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    daemon = project.daemon()
    asked = urllib.request.Request(daemon["url"] + "/v1/fault-injected",
                                   headers={"Authorization": "Bearer " + daemon["token"]})

    def holds():
        assert run.poll() is None, "it ended: " + run.stderr.read()
        with urllib.request.urlopen(asked, timeout=10) as response:
            return json.load(response)["injected"]
    wait_until(holds, "front waits for an answer that never comes")
    (test,) = [pid for name, pid in owned(project).items() if name == "test"]
    os.kill(daemon["pid"], signal.SIGKILL)
    # Nobody but the held call keeps the test: it ends as soon as front gets its reset.
    wait_until(lambda: not alive(test), "the test ends", timeout=20)
    wait_until(lambda: get(front) == 200, "front answers without faults", timeout=10)
    project.started[0].wait(timeout=30)
    pids = owned(project)
    trace = project.filibuster("trace")  # any next session ends what was left behind
    assert trace.exit_code == 0, trace
    assert not any(alive(pid) for pid in pids.values())
