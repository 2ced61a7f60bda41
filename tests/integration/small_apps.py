"""Applications of small services, as configurations: a service starts in a few milliseconds, so that a test can afford to
explore one."""
import collections
import json
import re
import shlex
import subprocess

from conftest import FILIBUSTER, PROGRAMS, PYTHON, TESTS

APPS = TESTS / "apps"

# Some service and some client, as words of a shell's command: native, since starting Python costs thirty times as much.
RELAY, PROBE = shlex.quote(str(PROGRAMS / "relay")), shlex.quote(str(PROGRAMS / "probe"))
# What only apps/relay.py does: TLS, and reading JSON.
ONLY_IN_PYTHON = ("--tls", "--reads-failures", "https://")


def url(name, path="/"):
    return f"http://127.0.0.1:${{port:{name}}}{path}"


def relay(name, *calls, options="", python=False, **members):
    """A service that GETs `calls` (names of services, or URLs), one after the other. `python`: for tests whose subject is the
    interpreter."""
    urls = [call if "://" in call else url(call) for call in calls]
    arguments = f"{options} " + " ".join(f"--call '{target}'" for target in urls)
    python = python or any(word in arguments for word in ONLY_IN_PYTHON)
    program = f"{PYTHON} {APPS}/relay.py" if python else RELAY
    return {"name": name, "command": f"exec {program} ${{port:{name}}} {arguments}".strip(), **members}


def probe(*urls, expected="200", name="probe", meet=0, python=False, **members):
    """A test that GETs `urls` and expects one of the statuses. `meet`: see apps/probe.py."""
    program = f"{PYTHON} {APPS}/probe.py" if python else PROBE
    quoted = " ".join(f"'{target}'" for target in urls)
    return {"name": name, "command": f"exec {program} {f'--meet {meet} ' if meet else ''}{expected} {quoted}", **members}


def held(test, execution):
    """`test`, which waits from that execution on for as long as there is a file `hold`: who interrupts its exploration
    is not too late."""
    wait = f"[ $FILIBUSTER_EXECUTION -lt {execution} ] || while [ -e hold ]; do sleep 0.01; done; "
    return {**test, "command": wait + test["command"]}


def printing(command, end="exit 0"):
    """`command`, which succeeds if `end` says so, and of which `printed` tells what it prints in each execution."""
    return f"echo ======== $FILIBUSTER_EXECUTION >> seen; {{ {command}\n}} >> seen 2>&1; {end}"


def printed(run):
    """What the test's command printed in each execution that allowed a conclusion, in their order."""
    _, *parts = re.split(r"^======== (\d+)\n", (run.root.parent / "seen").read_text(), flags=re.M)
    return [text for number, text in zip(parts[::2], parts[1::2], strict=True)
            if int(number) not in run.repeated | run.looked_again]


def rows_of(run):
    """What apps/record.py or apps/compare.py wrote to `seen` in each of the same executions."""
    rows = [json.loads(line) for line in (run.root.parent / "seen").read_text().splitlines()]
    return [row for row in rows if int(row["execution"]) not in run.repeated | run.looked_again]


def faults_by_caller(run):
    """How many faults were executed in the calls of each service."""
    return collections.Counter(case["name"].split(" -> ")[0] for case in run.test["cases"] if case["state"] == "passed")


def pair(options="", expected="200,503", **members):
    """front -> back, and a test that accepts `expected` of front."""
    return config([relay("back"), relay("front", "back", options=options)],
                  [probe(url("front"), expected=expected)], **members)


def config(services, tests, **members):
    return {"version": 1, "services": services, "tests": tests, **members}


def config_check(project):
    """`filibuster config check` in the project's folder."""
    return subprocess.run([FILIBUSTER, "config", "check"], cwd=project.directory, capture_output=True, text=True, timeout=60)
