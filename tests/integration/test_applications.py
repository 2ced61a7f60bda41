"""Whose session services follow that are started by hand: that of their application."""
import os
import signal

import pytest

from by_hand import ByHand
from conftest import Project, wait_until
from small_apps import config, probe, relay, url

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


@pytest.mark.alone
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


@pytest.mark.alone
def test_services_follow_the_application_that_they_are_told(tmp_path, by_hand, held):
    elsewhere = tmp_path / "elsewhere"
    first = by_hand(elsewhere, FILIBUSTER_APPLICATION=f"{tmp_path}/shop/")  # as sessions are called by default
    second = by_hand(elsewhere, FILIBUSTER_APPLICATION="shop of the CI")
    sessions = [held(tmp_path / "shop", first.configuration(HELD)),
                held(tmp_path / "ci", second.configuration(HELD), FILIBUSTER_APPLICATION="shop of the CI")]
    for session in sessions:
        exit_code, output, errors = session.go_on()
        assert exit_code == 0 and "front -> back" in output and len(calls(output)) == 2, (output, errors)


@pytest.mark.alone
def test_of_two_sessions_a_service_of_no_application_follows_none_and_both_say_what_to_set(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere")
    sessions = {name: held(tmp_path / name, services.configuration(HELD)) for name in ("shop", "cart")}
    assert services.get() == {"failed": 0}
    assert services.joined == [False, False]
    for name, session in sessions.items():
        exit_code, output, errors = session.go_on()
        # When the first has ended, there is no doubt any more.
        assert ("front -> back" in output) == (name == "cart"), output
        for process in services.processes:
            assert f"pid {process.pid} " in errors, (name, errors)
        assert f"FILIBUSTER_APPLICATION={tmp_path / name}" in errors, (name, errors)


@pytest.mark.alone
def test_services_stay_with_their_session_when_another_begins(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere")
    first = held(tmp_path / "shop", services.configuration(HELD))
    assert services.get() == {"failed": 0}
    assert services.joined == [True, True]
    second = held(tmp_path / "cart", services.configuration(HELD))
    exit_code, output, errors = second.go_on()
    assert "front -> back" not in output and "stays there" in errors, (output, errors)
    assert f"FILIBUSTER_APPLICATION={tmp_path / 'cart'}" in errors, errors
    exit_code, output, errors = first.go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)
    # And are free when it has ended.
    exit_code, output, errors = held(tmp_path / "next", services.configuration(HELD)).go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)


@pytest.mark.alone
def test_two_sessions_of_one_application_say_that_they_need_names(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere", FILIBUSTER_APPLICATION="shop")
    sessions = [held(tmp_path / name, services.configuration(HELD), FILIBUSTER_APPLICATION="shop") for name in "ab"]
    assert services.get() == {"failed": 0}
    assert services.joined == [False, False]
    for session in sessions:
        _, _, errors = session.go_on()
        assert "FILIBUSTER_APPLICATION in the environment of both" in errors, errors


@pytest.mark.alone
@pytest.mark.parametrize("of", ["no application", "another application"])
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


@pytest.mark.alone
def test_a_session_whose_daemon_was_killed_is_no_candidate(tmp_path, by_hand, held):
    services = by_hand(tmp_path / "elsewhere")
    killed = held(tmp_path / "shop", services.configuration(HELD))
    os.kill(killed.project.daemon()["pid"], signal.SIGKILL)
    killed.process.wait(timeout=30)
    exit_code, output, errors = held(tmp_path / "cart", services.configuration(HELD)).go_on()
    assert exit_code == 0 and "front -> back" in output, (output, errors)
    assert "another session" not in errors, errors
