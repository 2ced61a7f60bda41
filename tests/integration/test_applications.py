"""Whose session services follow that are started by hand: that of their application."""
import os
import re
import signal
import subprocess

import pytest

from by_hand import ByHand
from conftest import PYTHON, Project, wait_until
from processes import events
from small_apps import APPS, config, probe, relay, url

HELD = "touch started; until [ -e go ]; do sleep 0.01; done; "  # a test that begins when it is told to


@pytest.fixture
def things():
    made = []
    yield made
    for each in made:
        each.end()


@pytest.fixture
def by_hand(things):
    """by_hand(DIRECTORY, NAME=VALUE...)"""
    def make(directory, **environment):
        things.append(ByHand(directory, **environment))
        return things[-1]
    return make


class Held:
    """A session in a directory of its own, whose test waits: other sessions can begin meanwhile."""

    def __init__(self, directory, configuration, env=None):
        self.project = Project(directory)
        self.project.write("filibuster.json", configuration)
        self.process = self.project.start("trace", env=env)
        wait_until(lambda: (directory / "started").exists(), "the test waits")

    def go_on(self):
        """Exit code, output, errors."""
        self.project.write("go", "")
        output, errors = self.process.communicate(timeout=60)
        print(output, errors)
        return self.process.returncode, output, errors

    def end(self):
        self.project.write("go", "")
        self.project.end()


@pytest.fixture
def held(things):
    def make(directory, configuration, **env):
        things.append(Held(directory, configuration, env))
        return things[-1]
    return make


def of_its_own(before=HELD):
    """An application whose services all have commands."""
    test = probe(url("own"))
    return config([relay("own")], [{**test, "command": before + test["command"]}])


def calls(output):
    return [line for line in output.splitlines() if " -> " in line]


def test_services_follow_the_session_below_whose_folder_they_were_started(tmp_path, by_hand, held):
    running = []
    for name in ("shop", "cart"):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "filibuster.json").write_text("{}")  # it has to be there when they start
        services = by_hand(directory / "services" / "all")
        running.append(held(directory, services.configuration(HELD)))
    for session in running:
        exit_code, output, errors = session.go_on()
        assert exit_code == 0 and "front -> back" in output and len(calls(output)) == 2, (output, errors)
        assert "FILIBUSTER_APPLICATION" not in errors, errors


def test_services_follow_the_application_that_they_are_told(tmp_path, by_hand, held):
    elsewhere = tmp_path / "elsewhere"
    first = by_hand(elsewhere, FILIBUSTER_APPLICATION=f"{tmp_path}/shop/")  # as sessions are called by default
    second = by_hand(elsewhere, FILIBUSTER_APPLICATION="shop of the CI")
    sessions = [held(tmp_path / "shop", first.configuration(HELD)),
                held(tmp_path / "ci", second.configuration(HELD), FILIBUSTER_APPLICATION="shop of the CI")]
    for session in sessions:
        exit_code, output, errors = session.go_on()
        assert exit_code == 0 and "front -> back" in output and len(calls(output)) == 2, (output, errors)


def test_a_service_elsewhere_follows_no_session_and_those_that_wait_for_it_say_what_to_set(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere")
    sessions = {name: held(tmp_path / name, services.configuration(HELD)) for name in ("shop", "cart")}
    assert services.get() == {"failed": 0}
    for name, session in sessions.items():
        exit_code, output, errors = session.go_on()
        assert "front -> back" not in output, output
        for process in services.processes:
            assert re.search(rf"pid {process.pid} \([^)]+\) to {tmp_path}/elsewhere[.;]", errors), (name, errors)
        assert f"FILIBUSTER_APPLICATION={tmp_path / name}\n" in errors, (name, errors)
    assert services.joined == [False, False]


def test_who_watches_what_happens_hears_of_them_in_the_end(tmp_path, by_hand, things):
    services = by_hand(tmp_path / "elsewhere")
    project = Project(tmp_path / "shop")
    things.append(project)
    project.write("filibuster.json", services.configuration())
    process = project.start("trace", "--follow", "--json")
    next(event for event in events(process) if event["type"] == "session")
    process.send_signal(signal.SIGINT)
    warnings = [event["text"] for event in events(process) if event["type"] == "warning"]
    for service in services.processes:
        assert any(f"pid {service.pid} " in text and f"FILIBUSTER_APPLICATION={tmp_path}/shop" in text for text in warnings), warnings


def test_programs_elsewhere_are_not_named_where_nobody_waits_for_them(tmp_path, by_hand, held):
    """The session's own front and back have not been used yet, or it waits for neither."""
    services = by_hand(tmp_path / "elsewhere")
    waiting = by_hand(tmp_path / "waiting")
    idle = waiting.configuration(HELD)
    idle["services"].append(relay("own"))
    sessions = [held(tmp_path / "own", of_its_own()), held(tmp_path / "waiting", {**idle, "tests": of_its_own()["tests"]})]
    for session in sessions:
        exit_code, output, errors = session.go_on()
        assert exit_code == 0 and len(calls(output)) == 1, (output, errors)
        assert "FILIBUSTER_APPLICATION" not in errors and "elsewhere" not in errors, errors
    assert services.joined == [False, False]


def test_of_its_application_a_session_takes_those_that_it_lists(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "shop")
    made = services.configuration(HELD)
    made["services"] = [{"name": "front", "ports": {"front": services.ports["front"]}}]
    session = held(tmp_path / "shop", made)
    exit_code, output, errors = session.go_on()
    assert exit_code == 0 and len(calls(output)) == 2, (output, errors)
    assert "test -> front" in output and "front -> back" not in output, output
    assert services.joined == [False, True]
    assert f"pid {services.processes[0].pid} " not in errors, errors


def test_without_a_list_a_session_takes_whoever_was_started_in_its_folder(tmp_path, by_hand, things):
    services, others = by_hand(tmp_path / "shop"), by_hand(tmp_path / "shop" / "below")
    project = Project(tmp_path / "shop")
    things.append(project)
    ask = [PYTHON, APPS / "probe.py", "200", *(f"http://127.0.0.1:{each.ports['front']}/" for each in (services, others))]
    run = project.filibuster("trace", "--", *ask)
    assert run.exit_code == 0 and len(calls(run.output)) == 3, run  # two of the test, and one of the front of its folder
    assert (services.joined, others.joined) == ([True, True], [False, False])


def test_services_stay_with_their_session_when_another_begins(tmp_path, by_hand, held):
    shop = {"FILIBUSTER_APPLICATION": "shop"}
    services = by_hand(tmp_path / "elsewhere", **shop)
    first = held(tmp_path / "shop", services.configuration(HELD), **shop)
    assert services.get() == {"failed": 0}
    assert services.joined == [True, True]
    second = held(tmp_path / "cart", services.configuration(HELD), **shop)
    exit_code, output, errors = second.go_on()
    assert "front -> back" not in output and "stays there" in errors, (output, errors)
    assert "FILIBUSTER_APPLICATION in the environment of both" in errors, errors
    exit_code, output, errors = first.go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)
    # And are free when it has ended.
    exit_code, output, errors = held(tmp_path / "next", services.configuration(HELD), **shop).go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)


def test_two_sessions_of_one_application_say_that_they_need_names(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere", FILIBUSTER_APPLICATION="shop")
    sessions = [held(tmp_path / name, services.configuration(HELD), FILIBUSTER_APPLICATION="shop") for name in "ab"]
    assert services.get() == {"failed": 0}
    assert services.joined == [False, False]
    for session in sessions:
        _, _, errors = session.go_on()
        assert "FILIBUSTER_APPLICATION in the environment of both" in errors, errors


@pytest.mark.parametrize("of", ["a folder without a file", "another application"])
def test_a_process_of_somebody_else_joins_no_session_that_starts_its_services(tmp_path, by_hand, held, of):
    directory = tmp_path / "other"
    directory.mkdir()
    if of == "another application":
        (directory / "filibuster.json").write_text("{}")
    services = by_hand(directory)
    session = held(tmp_path / "own", of_its_own())
    assert services.get() == {"failed": 0}
    assert services.joined == [False, False]
    exit_code, output, errors = session.go_on()
    assert exit_code == 0 and len(calls(output)) == 1 and "front" not in output, (output, errors)


def test_a_session_whose_daemon_was_killed_is_no_candidate(tmp_path, by_hand, held):
    shop = {"FILIBUSTER_APPLICATION": "shop"}
    services = by_hand(tmp_path / "elsewhere", **shop)
    killed = held(tmp_path / "shop", services.configuration(HELD), **shop)
    os.kill(killed.project.daemon()["pid"], signal.SIGKILL)
    killed.process.wait(timeout=30)
    exit_code, output, errors = held(tmp_path / "cart", services.configuration(HELD), **shop).go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)
    assert "another session" not in errors, errors


def in_a_folder(script, directory):
    """`script` in `directory`, which then executes its arguments."""
    return ["sh", "-c", f'cd "{directory}" && {script} && exec "$@"', "sh"]


class FromNowhere(ByHand):
    """Started in a folder that is not there any more."""

    def start(self, name, *arguments):
        gone = self.directory / f"gone-{name}"
        gone.mkdir()
        self.before = in_a_folder(f'rmdir "{gone}"', gone)
        return super().start(name, *arguments)

    def command(self, name, *arguments):
        return [*self.before, *super().command(name, *arguments)]


class InAnotherMount(ByHand):
    """Another folder is mounted over the one in which they were started."""

    def command(self, name, *arguments):
        mount = f"mount -t tmpfs none '{self.directory}'"
        return ["unshare", "-m", *in_a_folder(f"{mount} && cd '{self.directory}'", self.directory),
                *super().command(name, *arguments)]


def may_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("kind", [FromNowhere, InAnotherMount])
def test_who_is_in_no_folder_or_another_one_by_the_same_path_is_named_and_not_taken(tmp_path, things, held, kind):
    if kind is InAnotherMount and not may_mount():
        pytest.skip("NOT CHECKED, another folder by the same path: this user may not mount")
    services = kind(tmp_path / "shop")
    things.append(services)
    exit_code, output, errors = held(tmp_path / "shop", services.configuration(HELD)).go_on()
    assert exit_code == 0 and "front -> back" not in output, (output, errors)
    for process in services.processes:
        assert f"pid {process.pid} " in errors, errors
    assert f"FILIBUSTER_APPLICATION={tmp_path}/shop" in errors, errors
    assert services.joined == [False, False]


STARTS_ANOTHER = """
import http.server, os, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        call = [sys.executable, "-c", f"import urllib.request; urllib.request.urlopen('{sys.argv[2]}')"]
        if sys.argv[3] == "system":
            os.chdir("/")
            failed = os.system(f'{call[0]} -c "{call[2]}"')
        else:
            failed = subprocess.run(call, cwd="/").returncode
        self.send_response(503 if failed else 200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class StartsAnother(ByHand):
    """front starts a program in another folder that asks back."""
    way = "spawn"

    def command(self, name, *arguments):
        if name == "back":
            return super().command(name, *arguments)
        return [PYTHON, "-c", STARTS_ANOTHER, str(self.ports[name]), arguments[1], self.way]


class AsksTheShell(StartsAnother):
    way = "system"


@pytest.mark.parametrize("kind", [StartsAnother, AsksTheShell])
def test_what_a_service_starts_in_another_folder_belongs_to_its_application(tmp_path, things, held, kind):
    services = kind(tmp_path / "shop")
    things.append(services)
    exit_code, output, errors = held(tmp_path / "shop", services.configuration(HELD)).go_on()
    assert exit_code == 0 and "front -> back" in output and len(calls(output)) == 2, (output, errors)
