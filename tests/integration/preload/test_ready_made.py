"""Connections that come ready-made: by exec, in a message, out of another process. Whoever answers has neither accepted them nor
made any socket before."""
import pytest

from conftest import PROGRAMS, PYTHON
from small_apps import APPS, config, faults_by_caller, probe, relay, url

# tests/programs/handed.cc says what each is.
WAYS = ["rights", "started", "inetd", "bytes", "activated", "listening", "pidfd", "asking"]


def handed(way):
    return {"name": way, "command": f"exec '{PROGRAMS}/handed' ${{port:{way}}} {url('stock')} {way}"}


def test_they_are_followed_from_the_first_byte(project):
    project.write("filibuster.json", config(
        [relay("stock"), relay("front", "stock"), *map(handed, WAYS)],
        [probe(*map(url, ["front", *WAYS]), expected="200,503")]))
    run = project.filibuster("run", "--max-faults", "1", "--fault", "status:503", "--fault", "timeout")
    assert run.exit_code == 0, run
    found = faults_by_caller(run)
    assert found == {name: 2 for name in ["front", *WAYS]}, run
    assert run.test["dependencies_not_tested"] == [], run
    assert "no part" not in run.output + run.errors and "was seen to receive it" not in run.output + run.errors, run


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing_that_are_sent_connections(project, method):
    project.write("filibuster.json", config(
        [relay("stock"), {"name": "shop", "command": f"exec {PYTHON} {APPS}/handoff.py ${{port:shop}} {url('stock')} {method}"}],
        [probe(url("shop"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and faults_by_caller(run)["shop"] > 3, run
    assert "no part" not in run.output + run.errors, run
