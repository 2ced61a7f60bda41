"""What bad input gets: named at once with a way out and the right exit code, never ignored."""
import os
import socket

import pytest

from conftest import PYTHON
from processes import owned
from small_apps import APPS, config, probe, relay, url


# --- configuration ---------------------------------------------------------------------------

@pytest.mark.parametrize("text, place, message", [
    ('{"version": 1,\n "tests": [}', "filibuster.json:2:12", ""),
    ('{"version": 2,\n "tests": [{"name": "t", "command": "true"}]}', "filibuster.json:1:13", "expected 1"),
    ('{"version": 1,\n "test": [],\n "tests": [{"name": "t", "command": "true"}]}',
     "filibuster.json:2:2", "tests"),
    ('{"version": 1,\n "tests": [{"name": "t",\n  "command": "./t ${port:user}"}],\n'
     ' "services": [{"name": "users", "command": "true"}]}', "filibuster.json:3:19", "'${port:users}'"),
    ('{"version": 1, "tests": [{"name": "t", "command": "true"}],\n'
     ' "faults": [{"inject": ["teapot"]}]}', "filibuster.json:2:25", "teapot"),
    ('{"version": 1, "tests": [{"name": "t", "command": 5}]}', "filibuster.json:1:51", "array of arguments"),
    ('{"version": 1}', "filibuster.json:1:1", "tests"),
], ids=["syntax", "version", "unknown-key", "unknown-port", "unknown-fault", "type", "missing"])
def test_an_invalid_configuration_is_named_by_file_line_and_column(project, text, place, message):
    project.write("filibuster.json", text)
    run = project.filibuster("run")
    assert run.exit_code == 2, run
    assert run.errors.startswith(place + ": "), run
    assert message in run.errors, run
    assert not (project.root / "report.json").exists()


def test_all_errors_of_a_configuration_are_shown_at_once(project):
    project.write("filibuster.json", '{"version": 1, "tests": [{"name": "t", "command": 5}],\n "reduce": "no"}')
    run = project.filibuster("run")
    assert run.exit_code == 2
    assert "filibuster.json:1:51: " in run.errors and "filibuster.json:2:12: " in run.errors, run


def test_a_file_that_cannot_be_read_is_named(project):
    project.directory.joinpath("folder.json").mkdir()
    for file in ("absent.json", "folder.json"):
        run = project.filibuster("run", "-c", file)
        assert run.exit_code == 2 and file in run.errors, run


# --- services --------------------------------------------------------------------------------

def test_a_service_that_does_not_start_is_named_with_the_end_of_its_log(project):
    project.write("filibuster.json", config(
        [{"name": "broken", "command": "echo first; echo the disk is full >&2; exit 9"}],
        [probe(url("broken"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "'broken'" in run.errors and "the disk is full" in run.errors and "9" in run.errors, run


def test_a_service_whose_program_does_not_exist_is_named(project):
    project.write("filibuster.json", config(
        [{"name": "absent", "command": ["./no-such-program"]}], [probe(url("absent"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "'absent'" in run.errors and "No such file" in run.errors, run


@pytest.mark.parametrize("ready, waited_for", [
    ({"timeout": 2, "tcp": True}, "port "),
    ({"timeout": 2, "http": "/health"}, "/health"),
    ({"timeout": 2, "log": "listening"}, "'listening'"),
], ids=["tcp", "http", "log"])
def test_a_service_that_never_becomes_ready_is_named_with_the_end_of_its_log(project, ready, waited_for):
    project.write("filibuster.json", config(
        [{"name": "slow", "command": "echo waiting for the moon; exec sleep 300", "ready": ready}],
        [probe(url("slow"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'slow'", "did not become ready", "waiting for the moon", waited_for):
        assert expected in run.errors, run
    assert owned(project) == {}, "the service was left running"


def test_a_port_in_use_is_named_with_its_holder(project):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        project.write("filibuster.json", config(
            [{"name": "users", "command": f"exec {PYTHON} {APPS}/relay.py {port}", "ports": {"users": port}}],
            [probe(url("users"))]))
        run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'users'", str(port), "in use", f"pid {os.getpid()}"):
        assert expected in run.errors, run


# --- the test --------------------------------------------------------------------------------

def test_a_reference_execution_that_fails_shows_the_tests_output(project):
    project.write("filibuster.json", config([relay("back")], [
        {"name": "t", "command": "echo expected a green hat; exit 4"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'t'", "without any fault", "exit status 4", "expected a green hat"):
        assert expected in run.errors, run


def test_a_test_without_any_rpc_is_an_error_with_hints(project):
    project.write("filibuster.json", config([relay("back")], [{"name": "idle", "command": "true"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "no RPC was seen" in run.errors and "'idle'" in run.errors, run
    assert "statically linked" in run.errors and "TLS" in run.errors, run
