"""Sequences of calls of OpenSSL, on a client and a server in one process, beside a plain model (tests/programs/tls/session_model.h): in a
session, and with faults, an application sees what the model says."""
import os
import pathlib
import random
import subprocess

import pytest

import pairs
from conftest import PROGRAMS, REPOSITORY, free_port
from small_apps import config

SESSIONS = f"{PROGRAMS}/tls_sessions"
SEEDS = sorted((REPOSITORY / "tests/fuzz/corpus/tls_sessions").iterdir())
# A request that is answered, on a kept connection, written whole, and then in pieces.
FAULTS = {"status:503": "answer", "status:503:after": "answer", "reset": "reset", "reset:after": "reset", "timeout": "silence", "timeout:after": "silence"}


def in_session(project, words, faults=(), kind="none", third_party=True):
    port = free_port()
    project.write("filibuster.json", config(
        [{"name": "peer", "ports": {"peer": port}, "third_party": third_party, "ready": "none"}],
        [{"name": "sessions", "command": f"echo ======== >> seen; {SESSIONS} {port} {kind} {words} >> seen 2>&1; code=$?; echo ended $code >> seen; exit $code"}],
        fault_test_calls=True, default_faults=False, bounds={"max_faults": 1, "reference_executions": 1},
        faults=[{"on": {"service": "peer"}, "inject": list(faults)}] if faults else []))
    run = project.filibuster("run", "--no-snapshot")
    seen = pathlib.Path(project.directory / "seen").read_text()
    executions = seen.split("========\n")[1:]
    assert all(text.endswith("ended 0\n") for text in executions), seen[-3000:]
    return run, executions


def test_the_model_holds_without_us():
    seed = random.randrange(1 << 20)
    files = subprocess.run([SESSIONS, str(free_port()), "none", *map(str, SEEDS)], capture_output=True, text=True, timeout=300)
    assert files.returncode == 0, files.stderr[-3000:]
    at_random = subprocess.run([SESSIONS, str(free_port()), "none", "seed", str(seed), "200"], capture_output=True, text=True, timeout=300)
    assert at_random.returncode == 0, at_random.stderr[-3000:]


def test_the_sequences_of_the_corpus(project):
    in_session(project, " ".join(map(str, SEEDS)))


def test_random_sequences(project):
    seed, times = random.randrange(1 << 20), int(os.environ.get("TORTURE", "1"))
    run, _ = in_session(project, f"seed {seed} {300 * times}")
    assert len(run.test["reference"]) > 20  # requests were seen


# Bytes of operations (kTable of session_model.cc).
REQUEST, WRITE, WRITE_EX, SERVER_READ, ANSWER, SERVER_WRITE, READ, READ_EX, PEEK, PEEK_EX, PENDING, MOVE_IN, DRAIN, STATES = \
    0, 5, 9, 12, 19, 23, 27, 30, 32, 34, 35, 42, 51, 55
ALL = 255  # an argument: of 192,000 bytes
WAYS = [0, 1, 2, 3, 4, 8, 16, 64 + 8]


def exchanges(ways, seed):
    """Requests one after the other, each written whole; the answers are read in all ways, bit by bit."""
    choice = random.Random(seed)
    steps = [ways, 0]
    for _ in range(2):
        steps += [REQUEST, choice.randrange(128), choice.choice([WRITE, WRITE_EX]), ALL, DRAIN, 0, ANSWER, choice.choice([20, 120, 200]), SERVER_WRITE, ALL]
        for _ in range(12):
            steps += [choice.choice([READ, READ_EX, PEEK, PEEK_EX, PENDING, MOVE_IN, STATES]), choice.choice([1, 7, 90, 127, 200])]
        steps += [DRAIN, 0]
    return bytes(steps)


# All but the one that waits for its limit in each sequence.
@pairs.only("fault", ["status:503", "status:503:after", "reset", "reset:after", "timeout"])
@pytest.mark.parametrize("fault", FAULTS)
def test_sequences_with_a_fault(project, fault):
    files = [project.directory / f"sequence-{ways}" for ways in WAYS]
    for number, file in enumerate(files):
        file.write_bytes(exchanges(WAYS[number], number))
    run, executions = in_session(project, " ".join(file.name for file in files), [fault], FAULTS[fault])
    assert run.executed == 1 + 2 * len(WAYS), run
    if FAULTS[fault] == "answer":
        assert [text.splitlines()[-2] for text in executions[-2 * len(WAYS):]] == ["1"] * 2 * len(WAYS)
