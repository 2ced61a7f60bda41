"""The programs of tests/programs/http2 as services and tests, and executions with many faults at once."""
import json
import re

from conftest import BUILD, PYTHON, REPOSITORY
from small_apps import config

CALLS = BUILD / "tests" / "http2"
SCRIPT = REPOSITORY / "tests" / "programs" / "http2" / "calls.py"
STUBS = {"PYTHONPATH": str(CALLS)}

# What every client prints of one call of each kind, and one that the server itself refuses.
KINDS = """double 0 [] 42
double 3 [below zero: 50 % offä] 0
sum 0 [] 15
count 0 [] 1,2,3,4,
negate 0 [] -1,-2,-3,
"""


def server(language="cpp", name="calls"):
    command = f"exec {CALLS}/calls_server ${{port:{name}}}" if language == "cpp" else \
        f"exec {PYTHON} {SCRIPT} serve ${{port:{name}}}"
    return {"name": name, "command": command, "env": STUBS}


def client(mode, *arguments, language="cpp", to="calls"):
    words = " ".join(map(str, arguments))
    if language == "cpp":
        return f"{CALLS}/calls_client ${{port:{to}}} {mode} {words}".strip()
    return f"PYTHONPATH={CALLS} {PYTHON} {SCRIPT} {mode} ${{port:{to}}} {words}".strip()


def fault_where(project, services, command, chosen, fault, **members):
    """One execution of `command` in which every RPC that `chosen` accepts gets `fault`; what it printed.

    The RPCs are those of an execution without faults; the counterexample that a run writes is given
    their indexes.
    """
    test = {"name": "client", "command": f"{{ {command}\n}} > printed; ! grep -q 'failed [1-9]' printed"}
    made = config(services, [test], **{"bounds": {"reference_executions": 1, "max_executions": 2, "max_faults": 1},
                                       "default_faults": False,
                                       "faults": [{"on": {"caller": "test"}, "inject": [fault]}], **members})
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.counterexamples, run
    example = json.loads(run.counterexamples[0].read_text())
    (found,) = example["faults"]
    rpcs = [rpc for rpc in run.test["reference"] if chosen(rpc)]
    example["faults"] = [
        {**found, "index": rpc["index"], "count": rpc["count"], "path": rpc["path"], "method": rpc["method"],
         "signature": "", "connect_key": ""} for rpc in rpcs]
    replayed = project.filibuster("replay", project.write("chosen.json", example))
    return rpcs, replayed, (project.directory / "printed").read_text()


def value_of(rpc):
    """The value that the answer carries as text."""
    return int(re.search(r"(\d+)\|", rpc["response"])[1])


def failures(printed):
    """{value: code} of the calls that did not succeed."""
    return {int(value): int(code) for value, code in re.findall(r"^(\d+): (\d+)$", printed, re.M)}
