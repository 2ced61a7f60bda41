"""A pytest plugin that explores each test, and shows every execution as a test of its own.

    pytest -p filibuster_pytest --filibuster            # filibuster.json in the current directory
    pytest -p filibuster_pytest --filibuster=ci/filibuster.json tests/test_shop.py

The configuration has these tests as a suite: "tests": [{"runner": "pytest", "path": "tests/"}]. Each test
becomes `filibuster run --test NAME`; an execution under faults is reported as
tests/test_shop.py::test_checkout[users -> movies GET /movies/1: timeout], and the test itself fails if
there is a finding that is not accepted. Without --filibuster, and in the executions themselves, the plugin
does nothing.
"""
import contextlib
import json
import os
import shutil
import subprocess

import pytest
from _pytest.reports import TestReport

_DEFAULT = "filibuster.json"


def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # filibuster_principled has the same option
        parser.getgroup("filibuster").addoption(
            "--filibuster", nargs="?", const=_DEFAULT, metavar="CONFIG",
            help="explore each test under faults (filibuster run), and report each execution")


def _configuration(item):
    if os.environ.get("FILIBUSTER_URL") or getattr(item, "principled", False):  # filibuster_principled explores its own
        return None
    return item.config.getoption("--filibuster")


def _name(item, configuration):
    """As `filibuster` names the test: the runner's own name, from the folder of the configuration."""
    folder = os.path.dirname(os.path.abspath(configuration))
    behind = item.nodeid.split("::", 1)[1:]
    return "::".join([os.path.relpath(str(item.path), folder), *behind])


def _report(item, nodeid, outcome, text, seconds):
    """The three reports that pytest expects of a test."""
    item.ihook.pytest_runtest_logstart(nodeid=nodeid, location=item.location)
    for when in ("setup", "call", "teardown"):
        called = when == "call"
        item.ihook.pytest_runtest_logreport(report=TestReport(
            nodeid=nodeid, location=item.location, keywords={}, when=when,
            outcome=outcome if called else "passed", longrepr=text if called and outcome != "passed" else None,
            duration=seconds if called else 0))
    item.ihook.pytest_runtest_logfinish(nodeid=nodeid, location=item.location)


def _skipped(text):
    return ("filibuster", 0, text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    configuration = _configuration(item)
    if configuration is None:
        return None
    program = shutil.which("filibuster")
    if program is None:
        raise pytest.UsageError("--filibuster: the command `filibuster` is not on the PATH")
    run = subprocess.Popen(
        [program, "run", "--json", "-c", configuration, "--test", _name(item, configuration)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
    findings, errors, seconds = [], [], 0.0
    for line in run.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        kind = event.get("type")
        if kind == "execution" and event["faults"]:
            verdict = event.get("verdict", "")
            seconds += event["seconds"]
            nodeid = "%s[%s]" % (item.nodeid, " + ".join(event["faults"]))
            if event["passed"] and verdict in ("passed", "not-quiescent"):
                _report(item, nodeid, "passed", None, event["seconds"])
            elif event["passed"]:
                _report(item, nodeid, "skipped", _skipped("no conclusion: " + verdict), event["seconds"])
            else:
                _report(item, nodeid, "failed", "%s under %s" % (verdict, " + ".join(event["faults"])), event["seconds"])
        elif kind == "finding" and not event.get("accepted"):
            findings.append(event["text"])
        elif kind == "error":
            errors.append(event["text"])
    said = run.stderr.read()
    code = run.wait()
    if code == 0:
        _report(item, item.nodeid, "passed", None, seconds)
    else:
        text = "\n".join(findings or errors or [said or "filibuster run ended with exit status %d" % code])
        _report(item, item.nodeid, "failed", text, seconds)
    return True
