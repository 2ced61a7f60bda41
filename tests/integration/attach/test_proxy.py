"""Services that run already, attached by eBPF, in a real session: their calls, causes, call sites and faults."""
import contextlib
import os
import subprocess

import pytest

from by_hand import listens
from conftest import PROGRAMS, PYTHON, free_port, wait_until
from machine import Loader
from rpc_tree import attributions, chains, observe
from small_apps import APPS, config, printed, printing
from test_faults import FAULTS

pytestmark = pytest.mark.alone


@contextlib.contextmanager
def running(**commands):
    """Plain programs, without the library: {name: command with {name} for each port}. Yields ports and processes."""
    ports = {name: free_port() for name in commands}
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
    processes = {}
    try:
        for name, command in commands.items():
            processes[name] = subprocess.Popen([str(word).format(**ports) for word in command], env=plain)
        for port in ports.values():
            wait_until(lambda: listens(port), "the service listens")
        yield ports, processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def loader():
    made = Loader()
    yield made
    made.end()


def by_hand(ports):
    return [{"name": name, "ports": {name: port}} for name, port in ports.items()]


def static_service(number):
    return {"back": [PYTHON, APPS / "meeting.py", "{back}", number], "web": [PROGRAMS / "two_sites", "{web}", "{back}"]}


@pytest.mark.parametrize("number", [1, 2, 8])
def test_each_call_of_a_static_program_has_the_cause_that_its_thread_serves(project, loader, number):
    with running(**static_service(number)) as (ports, processes):
        loader.attach("web", [processes["web"].pid], [ports["web"]], project.directory)
        run = observe(project, by_hand(ports), f"exec {PYTHON} {APPS}/many.py {number} http://127.0.0.1:{ports['web']}",
                      complete=False)
    right, unknown, wrong = attributions(run)
    assert wrong == [] and unknown == [], run
    assert sorted(right) == sorted(f"/{n}/{site}" for n in range(number) for site in (0, 1))
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web"]
    sites = {site: {tuple(rpc["stack"]) for rpc in calls if rpc["path"].endswith(site)} for site in ("/0", "/1")}
    assert len(sites["/0"]) == len(sites["/1"]) == 1 and sites["/0"] != sites["/1"], sites
    assert "first_site" in str(sites["/0"]) and "second_site" in str(sites["/1"]), sites


def test_faults_of_an_attached_static_program_are_explored(project, loader):
    """Every fault of the first call is alone in an execution, and meets the program as its own connection does."""
    with running(**static_service(1)) as (ports, processes):
        loader.attach("web", [processes["web"].pid], [ports["web"]], project.directory)
        record = f"curl -sS http://127.0.0.1:{ports['web']}/7; echo"
        project.write("filibuster.json", config(
            by_hand(ports), [{"name": "client", "command": printing(record)}],
            default_faults=False, bounds={"max_faults": 1, "reference_executions": 1},
            faults=[{"on": {"service": "back"}, "inject": FAULTS}]))
        run = project.filibuster("run")
        assert run.exit_code == 0, run
        assert run.executed == 1 + 2 * len(FAULTS), run
        seen = ["", *2 * [*3 * ["Connection reset by peer"], *2 * ["timeout"], "500", "502", *2 * ["503"]]]
        assert sorted(text.strip() for text in printed(run)) == sorted(seen)
