"""kill -9 of the daemon that relays HTTP/2 connections."""
from calls import client, server
from conftest import wait_until
from processes import alive, events, owned
from small_apps import config


def test_a_daemon_killed_while_it_relays_ends_those_connections_only(project):
    command = client("threads", 4, 25)
    project.write("filibuster.json", config(
        [server()], [{"name": "client", "command": f"{command} > printed; true"}], fault_test_calls=True, default_faults=False,
        faults=[{"on": {"caller": "test"}, "inject": ["status:503:after"]}], bounds={"max_executions": 4}))
    process = project.start("run", "--json", env={"FILIBUSTER_FAIL_AT": "relayed"})
    list(events(process))
    assert process.wait(timeout=120) == 3, process.stderr.read()
    pids = owned(project)
    assert alive(pids["calls"])
    if "test" in pids:
        wait_until(lambda: not alive(pids["test"]), "the test ends")
    run = project.filibuster("run")
    assert run.executed > 1 and not alive(pids["calls"]), run
