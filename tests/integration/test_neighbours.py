"""Sessions and programs of one user at the same time, of different applications: none of them meets what is another's."""
import json
import os
import subprocess
import urllib.request

import pytest

from by_hand import listens
from conftest import PRELOAD, PROGRAMS, Project, free_port, wait_until
from small_apps import config, url

NEIGHBOUR = PROGRAMS / "neighbour"
HELD = "touch started; until [ -e go ]; do sleep 0.01; done; "  # of the first execution: the sessions run at once


class Programs:
    """front -> back, started by hand under the library in a folder. `named`: by FILIBUSTER_SERVICE."""

    def __init__(self, directory, named=True, **environment):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.back, self.front = free_port(), free_port()
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        self.processes = [
            subprocess.Popen([NEIGHBOUR, "serve", *map(str, ports)], cwd=directory,
                             env={**plain, "LD_PRELOAD": str(PRELOAD), **({"FILIBUSTER_SERVICE": name} if named else {}),
                                  **environment})
            for name, ports in (("back", [self.back]), ("front", [self.front, self.back]))]
        for port in (self.back, self.front):
            wait_until(lambda: listens(port), "the service listens")

    def under_load(self):
        self.load = subprocess.Popen([NEIGHBOUR, "load", str(self.front), "quiet"], cwd=self.directory,
                                     stdout=subprocess.PIPE, text=True)
        self.processes.append(self.load)

    def answers(self):
        """What the load got, {answer: number}."""
        (self.directory / "quiet").touch()
        return json.loads(self.load.communicate(timeout=60)[0])

    def services(self):
        return [{"name": "back", "ports": {"back": self.back}}, {"name": "front", "ports": {"front": self.front}}]

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def made():
    everything = []
    yield everything
    for each in everything:
        each.end()


@pytest.fixture
def programs(made):
    """programs(DIRECTORY, ...)"""
    def make(*arguments, **members):
        made.append(Programs(*arguments, **members))
        return made[-1]
    return make


def ask(target):
    """A test that looks at no answer: what fails is seen in the report."""
    return f"{HELD}exec curl -s -o /dev/null {target}"


@pytest.fixture
def explore(made):
    """Starts an exploration in a folder, which waits for the file `go`."""
    def start(directory, configuration=None, arguments=(), verb="run"):
        directory.mkdir(parents=True, exist_ok=True)
        project = Project(directory)
        made.append(project)
        if configuration is not None:
            project.write("filibuster.json", configuration)
        return project, project.start(verb, *arguments)
    return start


def started_services():
    return [{"name": "back", "command": f"exec {NEIGHBOUR} serve ${{port:back}}"},
            {"name": "front", "command": f"exec {NEIGHBOUR} serve ${{port:front}} ${{port:back}}"}]


def test_two_developers_two_projects_and_a_ci_runner_never_meet(tmp_path, programs, explore):
    # Programs of nobody's session, under load: in a folder with a configuration and without, called as services are
    # for which the sessions wait and as their executable is.
    (tmp_path / "with a file").mkdir()
    (tmp_path / "with a file" / "filibuster.json").write_text("{}")
    strangers = [programs(tmp_path / "with a file" / "below"), programs(tmp_path / "without"),
                 programs(tmp_path / "unnamed", named=False), programs(tmp_path / "told", FILIBUSTER_APPLICATION="told")]
    for each in strangers:
        each.under_load()
    # One developer has no configuration, the other one has, and both have started their services by hand. The CI
    # runner's session starts its own.
    first = programs(tmp_path / "first")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "filibuster.json").write_text("{}")  # it has to be there when they start
    second = programs(tmp_path / "second" / "services")
    sessions = {
        "first": explore(tmp_path / "first", arguments=["--", "sh", "-c", ask(f"http://127.0.0.1:{first.front}/")]),
        "second": explore(tmp_path / "second", config(second.services(), [{"name": "ask", "command": ask(url("front"))}])),
        "ci": explore(tmp_path / "ci", config(started_services(), [{"name": "ask", "command": ask(url("front"))}]))}
    for name, (project, process) in sessions.items():
        wait_until(lambda: (project.directory / "started").exists() or process.poll() is not None, f"{name} runs")
    for project, _ in sessions.values():
        project.write("go", "")
    for name, (project, process) in sessions.items():
        output, errors = process.communicate(timeout=300)
        print(name, output, errors)
        assert process.returncode == 0 and "FILIBUSTER_APPLICATION" not in errors, (name, output, errors)
        text = (project.root / "report.json").read_text()
        (test,) = json.loads(text)["tests"]
        seen = {(rpc["caller"], rpc["service"], rpc["received_by"]) for rpc in test["reference"]}
        if name == "first":  # its services have no names for their ports
            assert {(caller, received) for caller, _, received in seen} == {("test", "front"), ("front", "back")}, seen
        else:
            assert seen == {("test", "front", "front"), ("front", "back", "back")}, seen
        assert len(test["reference"]) == 2 and test["counts"]["executed"] == 6, text
        assert not test["dependencies_not_tested"] and not test["skipped"], text
        others = [*strangers, *(own for whose, own in (("first", first), ("second", second)) if whose != name)]
        assert not [port for each in others for port in (each.front, each.back) if f":{port}" in text], text
    for each in strangers:
        answers = each.answers()
        assert list(answers) == ["ok"], (each.directory.name, answers)


def test_what_the_own_application_meets_is_seen_at_its_front(tmp_path, programs, explore):
    """So what its neighbours do not meet would have been seen there."""
    own = programs(tmp_path)
    project, process = explore(tmp_path, config(own.services(), [{"name": "ask", "command": ask(url("front"))}]), verb="trace")

    def answer():
        with urllib.request.urlopen(f"http://127.0.0.1:{own.front}/", timeout=30) as response:
            return response.read()

    wait_until(lambda: answer() == b"field", "front's call to back carries the field of the session")
    project.write("go", "")
    assert process.wait(timeout=60) == 0
