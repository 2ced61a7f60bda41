"""Sequences of calls of OpenSSL, on a client and a server in one process, beside a plain model (tests/programs/tls/session_model.h): in a
session, and with faults, an application sees what the model says."""
import os
import pathlib
import random
import subprocess

import pytest

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
        faults=[{"inject": list(faults)}] if faults else []))
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


@pytest.mark.parametrize("fault", FAULTS)
def test_sequences_with_a_fault(project, fault):
    run, executions = in_session(project, "seed 7 12", [fault], FAULTS[fault])
    assert run.executed > 3, run
    if FAULTS[fault] != "silence":
        assert any(text.splitlines()[-2] != "0" for text in executions), "the fault was met by a reader"
