"""The cache-aside application: the same shop on four client libraries of Redis. Each is explored in exactly the executions
that its README derives, and survives every outage of its cache; the seeded bugs are found by the faults that they wait for.

(That the shops pass their functional test without Filibuster is what corpus/cache-aside/test_units.py sees.)
"""
import re
import shutil

import pytest

import pairs
from conftest import CORPUS, REPOSITORY

FOLDER = CORPUS / "cache-aside"
BUILT = REPOSITORY / "build" / "corpus" / "cache-aside"  # where the configurations look
# {configuration: (executions, with single faults only)}
DERIVED = {name: (int(executions), int(single)) for name, executions, single in
           re.findall(r"^\| ([a-z-]+) \| (\d+) \| (\d+) \|$", (FOLDER / "README.md").read_text(), re.M)}
NO_ANSWER = {"refused", "timeout"}


def missing(configuration):
    if shutil.which("redis-server") is None:
        return "redis-server is not installed"
    if configuration == "hiredis" and not (BUILT / "hiredis").exists():
        return f"{BUILT}/hiredis is not built (make corpus)"
    if configuration.startswith(("ioredis", "node-redis")) and not (BUILT / "installed").exists():
        log = BUILT / "npm.log"
        return f"npm ci said {log.read_text()[:400] if log.exists() else 'nothing (make corpus)'}"
    return None


def explore(project, configuration, *options):
    reason = missing(configuration)
    if reason is not None:
        pytest.skip(f"NOT TESTED HERE: {configuration} of cache-aside: {reason}")
    return project.filibuster("run", "-c", FOLDER / f"{configuration}.json", *options)


def assert_silent(run, executions, left=()):
    assert run.exit_code == 0 and not run.test["findings"], run
    assert run.test["without_cause"] == [] and [row["reason"] for row in run.test["skipped"]] == list(left), run
    assert run.executed == executions, run


def faulted(run):
    """{(command, pattern of its key, fault that alone leads to a finding)}."""
    assert run.exit_code == 1, run
    found = set()
    for finding in run.test["findings"]:
        (fault,) = finding["faults"]
        assert finding["reproduced"] is True and (fault["caller"], fault["service"]) == ("shop", "cache"), run
        assert "expected 200, got 500" in finding["first"]["output"], run
        found.add((fault["method"], fault["path"], fault["fault"]))
    return found


def test_the_readme_derives_a_number_for_each_client():
    assert set(DERIVED) == {path.stem for path in FOLDER.glob("*.json")} - {"package", "package-lock", "outage-bug", "full-bug"}
    assert len({DERIVED[name] for name in ("hiredis", "redis-py", "ioredis", "node-redis")}) == 1


# In C. Node is in redis/test_node_callers.py, and Python is explored below.
@pairs.only("configuration", ["hiredis"])
@pytest.mark.parametrize("configuration", DERIVED)
def test_every_outage_is_survived_in_the_derived_executions(project, configuration):
    assert_silent(explore(project, configuration), DERIVED[configuration][0])


@pairs.only("reduce", ["published"])
@pytest.mark.parametrize("reduce", ["off", "published"])
def test_the_reduction_removes_none(project, reduce):
    assert_silent(explore(project, "redis-py", "--reduce", reduce), DERIVED["redis-py"][0])


@pairs.only("configuration", ["redis-py-transaction"])
@pytest.mark.parametrize("configuration", ["redis-py", "redis-py-transaction"])
def test_single_faults_take_the_derived_executions(project, configuration):
    assert_silent(explore(project, configuration, "--max-faults", "1"), DERIVED[configuration][1], ["bound max_faults 1"])


def test_an_outage_that_nobody_thought_of_fails_the_request(project):
    run = explore(project, "outage-bug", "--max-faults", "1")
    assert faulted(run) == {("GET", "product:*", fault) for fault in NO_ANSWER | {"redis:LOADING"}}, run
    assert run.executed == DERIVED["redis-py"][1], run


# The test above finds a bug by the outage of the same cache.
@pytest.mark.whole
def test_a_cache_that_answers_with_an_error_fails_the_request(project):
    run = explore(project, "full-bug", "--max-faults", "1")
    assert faulted(run) == {(command, pattern, fault) for command, pattern in (("SET", "product:*"), ("INCRBY", "visits:*"))
                            for fault in ("redis:OOM", "redis:READONLY")}, run
    assert run.executed == DERIVED["redis-py"][1], run
    sites = [fault["call_site"] for finding in run.test["findings"] for fault in finding["faults"]]
    assert all("redis_py.py:" in site and "fill" in site for site in sites), run
    counterexample, *_ = run.counterexamples
    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 1 and "expected 200, got 500" in replay.output, replay
