"""A counterexample that somebody sent: nothing that the user's own configuration does not name is executed without being asked for,
and what is no counterexample is named (exit code 2)."""
import copy
import json
import os

import pytest

from small_apps import pair

DEEP = 200_000


@pytest.fixture
def found(project):
    """A project with one finding: what its file holds."""
    project.write("filibuster.json", pair(expected="200", faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    (counterexample,) = run.counterexamples
    return json.loads(counterexample.read_text())


def test_commands_that_the_configuration_does_not_name_are_shown_and_not_executed(project, found):
    mark = project.directory / "executed"
    base = json.loads(found["config_text"])
    own = base["services"][1]
    ways = {
        "service": {"services": [base["services"][0], {**own, "command": f"touch {mark}; {own['command']}"}]},
        "another service": {"services": [*base["services"], {"name": "more", "command": f"touch {mark}; exec sleep 100", "ready": {"log": ""}}]},
        "test": {"tests": [{**base["tests"][0], "command": f"touch {mark}; {base['tests'][0]['command']}"}]},
        "hook": {"hooks": {"before_execution": f"touch {mark}"}},
        "hook after": {"hooks": {"after_execution": ["touch", str(mark)]}},
        "environment": {"services": [base["services"][0], {**own, "env": {"PYTHONSTARTUP": str(mark)}}]},
        "directory": {"services": [base["services"][0], {**own, "directory": "/tmp"}]},
    }
    for way, members in ways.items():
        sent = {**copy.deepcopy(found), "config_text": json.dumps({**base, **members})}
        replay = project.filibuster("replay", project.write("sent.json", sent))
        assert replay.exit_code == 2, (way, replay)
        assert not mark.exists(), way
        assert "sent.json: " in replay.errors and "--trust" in replay.errors and "filibuster.json" in replay.errors, (way, replay)
        told = {"environment": "PYTHONSTARTUP", "directory": "/tmp"}.get(way, "touch")
        assert told in replay.errors, (way, replay)
    # Who has read them may say so.
    sent = {**copy.deepcopy(found), "config_text": json.dumps({**base, **ways["hook"]})}
    replay = project.filibuster("replay", "--trust", project.write("sent.json", sent))
    assert replay.exit_code == 1 and "reproduced" in replay.output and mark.exists(), replay


def test_what_the_configuration_names_needs_no_trust(project, found):
    replay = project.filibuster("replay", project.write("sent.json", found))
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_a_configuration_that_is_not_the_users_own_vouches_for_nothing(project, found):
    """The file names the folder in which its configuration stands: one that the user is not in."""
    sent = {**found, "directory": str(project.directory)}
    elsewhere = project.directory.with_name(project.directory.name + "-elsewhere")
    elsewhere.mkdir()
    replay = project.filibuster("replay", project.write("sent.json", sent), cwd=elsewhere)
    assert replay.exit_code == 2 and "--trust" in replay.errors, replay


def test_a_session_of_the_command_line_has_no_configuration_that_could_name_its_commands(project, found):
    sent = {**found, "config_path": ""}
    replay = project.filibuster("replay", project.write("sent.json", sent))
    assert replay.exit_code == 2 and "--trust" in replay.errors, replay


WRONG = {
    "empty": b"", "no object": b"[]", "not utf-8": b'{"test": "\xff"}', "nul": b"{\0}", "cut": b'{"version": 1, "test": "x", "faults": [',
    "deep lists": b"[" * DEEP, "deep whole lists": b"[" * DEEP + b"]" * DEEP,
    "deep member": b'{"version": 1, "test": "probe", "faults": [], "more": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"version": 1, "test": "probe", "faults": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_counterexample_is_named(project, kind):
    file = project.directory / "sent.json"
    file.write_bytes(WRONG[kind])
    replay = project.filibuster("replay", file)
    assert replay.exit_code == 2 and "sent.json" in replay.errors, replay
    assert len(replay.errors) < 2000, len(replay.errors)


MEMBERS = ["version", "test", "config_path", "directory", "config_text", "verdict", "detail", "output", "ports", "descriptors", "nondeterminism",
           "index_parts", "hang_limit_ms", "faults"]
VALUES = [None, True, -1, 1e300, 2 ** 64, "", "x" * 1_000_000, "../" * 2000 + "etc/passwd", "$(touch executed)`touch executed`; touch executed",
          "\u0000\r\n\x1b[2J", [], {}, [[]], [{}], {"": {}}, [None], {"faults": [{"index": "../../x"}]}]
FAULT_MEMBERS = ["fault", "index", "count", "caller", "service", "path", "method", "parent", "signature", "connect_key"]


def test_no_value_of_any_member_is_believed(project, found):
    """All of one member at a time, in one file after the other: none of it is executed, written elsewhere or ends in anything but words."""
    before = {path for path in project.directory.rglob("*") if project.root not in path.parents}
    file = project.directory / "sent.json"

    def tried(sent, what):
        file.write_text(json.dumps(sent))
        replay = project.filibuster("replay", file, timeout=60)
        assert replay.exit_code in (0, 1, 2, 3), (what, replay.exit_code, replay.errors[-500:])
        assert "terminate" not in replay.errors and "daemon ended" not in replay.errors, (what, replay.errors[-500:])
        assert replay.exit_code != 2 or replay.errors.strip(), what
        assert "\x1b" not in replay.errors + replay.output, what
        return replay

    values = VALUES if os.environ.get("TORTURE") else VALUES[::4]
    for member in MEMBERS:
        for value in values:
            tried({**found, member: value}, (member, str(value)[:50]))
    fault = found["faults"][0]
    for member in FAULT_MEMBERS:
        for value in values:
            tried({**found, "faults": [{**fault, member: value}]}, ("faults", member, str(value)[:50]))
    tried({**found, "faults": [fault] * 100_000}, "many faults")
    left = {path for path in project.directory.rglob("*") if project.root not in path.parents and path != project.root} - before - {file}
    assert left == set(), left
