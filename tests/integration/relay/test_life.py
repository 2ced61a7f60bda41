"""Relayed connections live on from execution to execution, and are given up when the session ends."""
import os
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import PRELOAD, PYTHON, TESTS, accepts, free_port, wait_until
from small_apps import config, probe, url

HERE = TESTS / "relay"


@pytest.fixture
def ports(project, tmp_path):
    """front -> back over gRPC, started by the test itself under the preload, in the folder of the project."""
    made = {"back": free_port(), "front": free_port()}
    commands = {"back": [PYTHON, HERE / "grpc_server.py", made["back"]],
                "front": [PYTHON, HERE / "front.py", made["front"], made["back"]]}
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
    processes = [subprocess.Popen(list(map(str, command)), cwd=tmp_path,
                                  env={**plain, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": name})
                 for name, command in commands.items()]
    for port in made.values():
        wait_until(lambda: accepts(port), "the service accepts")
    yield made
    for process in processes:
        process.kill()
        process.wait()


def get(ports):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['front']}/", timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_connection_outlives_its_faults_the_session_and_the_daemon(project, ports):
    project.start("daemon")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    faults = ["status:503", "status:500:after", "grpc:INTERNAL", "reset", "reset:after"]
    project.write("filibuster.json", config(
        [{"name": name, "ports": {name: port}} for name, port in ports.items()],
        [probe(url("front"), expected="200,503")],
        index={"stack": False},  # the sites of gRPC in Python are another test's
        default_faults=False, faults=[{"on": {"service": "back"}, "inject": faults}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 1 + len(faults), (run, run.report)
    # At once: no call fails because its connection's relay has ended.
    assert [get(ports) for _ in range(5)] == [(200, b"question")] * 5
    project.started[0].terminate()
    project.started[0].wait(timeout=30)
    assert [get(ports) for _ in range(5)] == [(200, b"question")] * 5
