"""What `filibuster suite` does with suites and services that are not as they should be: it says what it has seen, and what it has left out."""
import json
import os
import subprocess

import pytest

from conftest import PYTHON
from processes import owned
from small_apps import APPS, config

PYTEST = f"{PYTHON} -m pytest"
# A client as libraries have them: it asks whether to send the body, and reads what has come before it sends it. It tries twice.
CLIENT = '''
import os, socket
def once():
    with socket.create_connection(("127.0.0.1", int(os.environ["SHOP_PORT"])), timeout=0.3) as peer:
        peer.sendall(b"PUT /copy HTTP/1.1\\r\\nHost: shop\\r\\nExpect: 100-continue\\r\\nContent-Length: 4\\r\\n\\r\\n")
        said = b""
        while not said.endswith(b"\\r\\n\\r\\nok" if b"early" in said else b"\\r\\n\\r\\n"):
            came = peer.recv(4096)
            if not came:
                raise OSError("the peer closed")
            said += came
        peer.sendall(b"copy")
        if b"early" not in said:
            said = peer.recv(4096)
        return int(said.rsplit(b"HTTP/1.1 ", 1)[1][:3])
def put():
    try:
        return once()
    except OSError:
        return once()
'''
IMPORTS = "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n"


def suite(project, tests, *options, services=(), entry=None, **files):
    """`filibuster suite` over the file `tests` of pytest, beside these modules."""
    for name, text in files.items():
        project.write(f"{name}.py", text)
    project.write("test_shop.py", IMPORTS + tests)
    entry = entry or {"runner": "pytest", "path": "test_shop.py", "program": PYTEST}
    entry["env"] = {"SHOP_PORT": "${port:shop}", "SHOP_URL": "http://127.0.0.1:${port:shop}"} if services else {}
    project.write("filibuster.json", config(list(services), [entry]))
    return project.filibuster("suite", *options)


def early(*numbers):
    return [{"name": "shop", "command": f"exec {PYTHON} {APPS}/early_answers.py ${{port:shop}} {' '.join(numbers)}", "third_party": True}]


def report(run):
    return json.loads((run.root / "suite.json").read_text())


TEST_OF_PUT = "from client import put\ndef test_put(): assert put() == 200\n"


def test_an_execution_whose_server_answered_early_is_made_again_and_says_so(project):
    # Two executions without faults; the third PUT is the first one that gets a fault.
    run = suite(project, TEST_OF_PUT, "--policy", "P1", services=early("3"), client=CLIENT)
    (fault,) = report(run)["faults"]
    assert (fault["tries"], fault["came"]) == (2, ["timeout:after", "pass"]), run
    assert "the server answered before the request was complete" in fault["tried_again"], run
    assert "Executed more than once" in run.output and "2 executions, since" in run.output, run
    assert run.exit_code == 0, run


def test_a_server_that_always_answers_early_leaves_no_conclusion_and_the_reason(project):
    run = suite(project, TEST_OF_PUT, "--policy", "P1", services=early("3-"), client=CLIENT)
    (fault,) = report(run)["faults"]
    assert fault["execution"] is None and fault["tries"] > 1, run
    assert fault["skipped"] == "no conclusion: the server answered before the request was complete", run
    assert run.exit_code == 3 and fault["skipped"] in run.output, run


def test_an_exploration_names_a_server_that_answers_early(project):
    project.write("client.py", CLIENT)
    project.write("filibuster.json", config(early("2-"), [{"name": "put", "command": f"exec {PYTHON} -c 'import client; assert client.put() == 200'",
                                                          "env": {"SHOP_PORT": "${port:shop}"}}], fault_test_calls=True, faults=[{"inject": ["timeout:after"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "an answer before the whole request" in run.output, run
