"""Callers that keep their connections: what a service saw is what the report says, whichever of its processes served the
request and whether that one had a connection or not."""
import glob
import json
import re

import pytest

import pairs
from conftest import BUILD, PYTHON, REPOSITORY
from small_apps import APPS, config, printed, printing, relay, rows_of, url

DEFAULT = ["refused", "timeout", "status:500", "status:502", "status:503"]


def explore(project, front, executions, faults=None, path="/", **members):
    """The run, and [{"execution", "saw", "said"}] of apps/compare.py in the order of the executions."""
    test = {"name": "compare", "env": {"PYTHONPATH": str(REPOSITORY / "cli" / "python")},
            "command": f"exec {PYTHON} {APPS}/compare.py seen {url('front', path)} {','.join(faults or DEFAULT)}"}
    back = {"name": "back", "command": f"exec {PYTHON} {APPS}/forked.py ${{port:back}}"}
    chosen = {"faults": [{"on": {"service": "back"}, "inject": faults}]} if faults else {}
    project.write("filibuster.json", config([back, {"name": "front", "command": front}], [test], **chosen,
                  bounds={"max_executions": executions, "reference_executions": 2}, **members))
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and run.executed == executions, run
    return run, rows_of(run)


def forked(processes, options=""):
    return f"exec {PYTHON} {APPS}/forked.py ${{port:front}} {url('back', '')} {processes} {options}"


def expected(faults):
    """What a service sees of an item under what is said to be injected there."""
    return {"": {"200"}, "refused": {"refused"}, "timeout": {"timeout"}}.get(
        "".join(faults), {fault.removeprefix("status:") for fault in faults})


def differences(rows, reset_is_said=False):
    wrong = []
    for row in rows:
        for item, saw in row["saw"].items():
            may = expected(row["said"][item]) | ({"reset"} if reset_is_said and row["said"][item] == ["refused"] else set())
            if saw not in may:
                wrong.append((row["execution"], item, saw, row["said"][item]))
    return wrong


@pairs.only("processes", [3])
@pytest.mark.parametrize("processes", [1, 3])
def test_processes_that_keep_connections_see_what_is_reported(project, processes):
    run, rows = explore(project, forked(processes), 100)
    assert differences(rows) == []
    assert run.test["counts"]["abandoned"] == 0, run
    (client,) = run.test["refusals"]
    assert client["refused"] > 0 and client["reset"] == 0, client


@pytest.mark.whole
@pytest.mark.parametrize("processes", [1, 3])
def test_a_client_that_does_not_look_sees_a_reset_and_that_is_said(project, processes):
    run, rows = explore(project, forked(processes, "--plain"), 100)
    assert differences(rows, reset_is_said=True) == []
    assert run.test["counts"]["abandoned"] == 0, run
    (client,) = run.test["refusals"]
    resets = sum(saw == "reset" for row in rows for saw in row["saw"].values())
    assert 0 < client["reset"] <= resets, client  # an execution that was run again counts once
    assert client["never_refused"] == [] or "as a reset only" in run.output, run


@pytest.mark.whole
@pytest.mark.parametrize("options", ["--again", "--plain --again"])
def test_attempts_of_the_program_itself_are_rpcs_of_their_own(project, options):
    """What is counted at a call site is as long as the calls that failed made it."""
    run, rows = explore(project, forked(3, options), 100, ["refused", "status:503"])
    for row in rows:
        for item, saw in row["saw"].items():
            attempts = saw.split(",")
            assert len(attempts) == (1 if attempts[0] == "200" else 2), row
            said = set().union(*(expected([fault]) for fault in row["said"][item])) | {"200"}
            assert set(attempts) <= said | ({"reset"} if "refused" in said else set()), row
            assert {"503"} & set(attempts) or "status:503" not in row["said"][item], row
            assert {"refused", "reset"} & set(attempts) or "refused" not in row["said"][item], row
    assert run.test["counts"]["abandoned"] == 0, run


@pairs.only("processes, options", [(3, "--skip"), (1, "--skip --fresh")])
@pytest.mark.parametrize("processes, options", [(1, "--skip"), (3, "--skip"), (1, "--skip --fresh")])
def test_an_rpc_that_comes_earlier_than_without_faults_is_refused(project, processes, options):
    """A plan counts the RPCs of a call site as they come under its own faults: without /2, /3 is the second."""
    run, rows = explore(project, forked(processes, options), 5, ["refused"])
    assert run.test["finished"] and run.test["counts"]["abandoned"] == 0, run
    seen = sorted(tuple(row["saw"].values()) for row in rows)
    refused, skipped = "refused", "skipped"
    # Without faults twice: the reference executions.
    assert seen == sorted([("200", "200", "200")] * 2 + [(refused, skipped, "200"), ("200", refused, skipped),
                                                        ("200", "200", refused), (refused, skipped, refused)]), seen
    assert all(row["said"][item] == ([refused] if saw == refused else []) for row in rows for item, saw in row["saw"].items()), rows


def java(name):
    """HttpURLConnection in the JDK's own server with 1 or 3 threads, or in a servlet."""
    machine = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/java"))), "java")
    if name.isdigit():
        return f"exec {machine} -cp {BUILD}/tests/java Kept ${{port:front}} {url('back', '')} {name}"
    classpath = (BUILD / "tests/servlets/classpath").read_text().strip()
    return f"exec {machine} -cp '{classpath}' Servlets {name} ${{port:front}} {url('back', '')}"


def assert_second_attempts_are_refused(project, server, executions):
    """HttpURLConnection asks again by itself when a kept connection failed: a server that is gone refuses that."""
    run, rows = explore(project, java(server), executions, path="/items")
    assert differences(rows) == []
    assert run.test["counts"]["abandoned"] == 0, run
    (client,) = run.test["refusals"]
    assert client["refused"] > 0 and client["reset"] == 0, client


@pairs.only("server", ["tomcat"])
@pytest.mark.parametrize("server", ["1", "3", "jetty", "tomcat"])
def test_the_second_attempt_of_java_is_refused_as_well(project, server):
    assert_second_attempts_are_refused(project, server, 40)


@pytest.mark.whole
@pytest.mark.parametrize("server", ["1", "3", "jetty", "tomcat"])
def test_the_second_attempts_of_java_in_a_hundred_executions_are_refused_as_well(project, server):
    assert_second_attempts_are_refused(project, server, 100)


# Refusals of the JDK's HttpClient are in runtimes/test_jvm.py, too.
@pytest.mark.whole
def test_a_client_whose_threads_take_turns_is_refused_its_first_connection(project):
    """The JDK's HttpClient writes each request from any thread of its pool. The calls come from one thread all the same."""
    gets = " ".join(url("back", path) for path in ("/a", "/b"))
    project.write("filibuster.json", config(
        [relay("back")], [{"name": "get", "command": printing(f"java -Djdk.httpclient.disableRetryConnect -cp {BUILD}/tests/java GetClient {gets}")}],
        fault_test_calls=True, default_faults=False, faults=[{"inject": ["refused"]}], bounds={"max_faults": 1}))
    run = project.filibuster("run", "--no-snapshot")
    assert run.executed == 3, run
    (client,) = run.test["refusals"]
    assert client["refused"] > 0 and "test -> back GET /a" not in client["never_refused"], client
    assert any(text.startswith("ConnectException\n200 ") for text in printed(run)), printed(run)


def test_a_finding_says_that_its_refusal_was_a_reset(project):
    """A test that fails at any failure of an item: the finding is not of a refusal where none was delivered."""
    back = {"name": "back", "command": f"exec {PYTHON} {APPS}/forked.py ${{port:back}}"}
    front = {"name": "front", "command": forked(1, "--plain")}
    test = {"name": "all", "command": f"exec {PYTHON} -c \"import urllib.request as u; "
                                      f"assert b'reset' not in u.urlopen('{url('front')}').read()\""}
    project.write("filibuster.json", config(
        [back, front], [test], faults=[{"on": {"service": "back", "path": "/3"}, "inject": "refused"}], default_faults=False))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["faults"][0]["delivered_as"] == "reset" and finding["reproduced"] is True, finding
    assert "refused (as a reset)" in run.output and "a refused connection was not tried" in run.output, run
    assert "as a reset only" in run.output, run
    (client,) = run.test["refusals"]
    assert client == {"caller": "front", "service": "back", "protocol": "HTTP/1.1", "refused": 0, "reset": client["reset"],
                      "never_refused": ["front -> back GET /3"]}
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1, replay
