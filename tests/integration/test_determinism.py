"""Every example application gives the same execution indexes each time it runs: over executions in one set of
processes, over restarts of all services, under address-space randomisation.

In `make test` eight executions of one application; of each application, and a hundred of it, in `make test-all`.
"""
import pathlib

import pytest

import pairs
from conftest import CORPUS
from corpus import applications, in_place


# hello-world speaks three runtimes.
APPLICATIONS = applications()
APPLICATIONS |= {f"hello-world/{name}": CORPUS / "hello-world" / f"{name}.json" for name in ("node", "java")}


def repeated(path, executions):
    """The configuration at `path` with its only test so often; may stand in any folder."""
    config = in_place(path)
    (test,) = config["tests"]
    config["default_faults"] = False
    config.pop("faults", None)
    config["tests"] = [{**test, "name": f"execution {n}"} for n in range(1, executions + 1)]
    return config


def indexes(report):
    """Of each execution the sorted (index, service, method) of its RPCs."""
    return [sorted((rpc["index"], rpc["service"], rpc["method"]) for rpc in test["reference"])
            for test in report["tests"]]


def varied(test):
    """What a run saw vary between its executions without faults, but for orders that no index depends on."""
    return [row for row in test.get("nondeterminism", {}).get("varied", []) if row["effect"] != "none"]


def test_addresses_are_randomised_here():
    assert pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip() != "0"


def assert_the_same(project, application, sessions, executions):
    """Each session starts all services anew, and has so many executions."""
    project.write("filibuster.json", repeated(APPLICATIONS[application], executions))
    seen = []
    for _ in range(sessions):
        run = project.filibuster("run")
        assert run.exit_code == 3, run  # without faults nothing is tested
        # What varies would be masked, and be the same then.
        assert not any(varied(test) for test in run.report["tests"]), run
        shown = indexes(run.report)
        assert len(shown) == executions, run
        seen += shown
    assert seen[0] and len({index for index, _, _ in seen[0]}) == len(seen[0]), "RPCs share an index"
    for number, execution in enumerate(seen, 1):
        assert execution == seen[0], f"execution {number} of {application} differs from the first"


# The longest of those in Python. What is particular to the indexes of the other runtimes is in runtimes/.
@pairs.only("application", ["cinema-3"])
@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_execution_has_the_same_indexes(project, application):
    assert_the_same(project, application, sessions=2, executions=4)


@pytest.mark.whole
@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_hundred_executions_have_the_same_indexes(project, application):
    assert_the_same(project, application, sessions=10, executions=10)


def test_an_application_that_varies_is_told_apart(project):
    """The comparison above can fail: this test's requests carry its own process id."""
    config = repeated(APPLICATIONS["cinema-1"], 4)
    for test in config["tests"]:
        test["command"] = ("exec /usr/bin/python3 -c \"import os, requests; "
                           "requests.get(os.environ['USERS_URL'] + f'/health?pid={os.getpid()}')\"")
    project.write("filibuster.json", config)
    report = project.filibuster("run").report
    assert all(varied(test) for test in report["tests"]) or len({tuple(execution) for execution in indexes(report)}) == 4
