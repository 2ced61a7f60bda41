"""What is no HTTP, or HTTP that keeps no rule of it, arrives in a session as it does without one. TORTURE=1: more of it."""
import json
import os
import subprocess

import pytest

from conftest import PYTHON, REPOSITORY
from rpc_tree import observe, without_us
from small_apps import relay, url

PEER = REPOSITORY / "tests" / "programs" / "http1" / "hostile_peer.py"
SEEDS = range(1, 21) if os.environ.get("TORTURE") else [1]
CHANGED = 1000 if os.environ.get("TORTURE") else 200


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_keeps_no_rule_of_http1_arrives_as_it_was_sent(project, seed):
    told = [project.directory / name for name in ("server.json", "client.json")]
    server = {"name": "bad", "command": f"exec {PYTHON} {PEER} serve ${{port:bad}} {told[0]} {seed} {CHANGED}"}
    client = f"{PYTHON} {PEER} send ${{port:bad}} {told[1]} {seed} {CHANGED}"
    with without_us([server], project.directory) as (environment, filled):
        plain = subprocess.run(["sh", "-c", filled(client)], cwd=project.directory, env=environment, capture_output=True,
                               text=True, timeout=300)
        assert plain.returncode == 0, plain.stderr
        expected = [lines(path) for path in told]
    # The rest of the program goes on beside it.
    run = observe(project, [server, relay("back")], f"{client} && curl -sSf {url('back', '/after')}", complete=False)
    for path, plainly in zip(told, expected):
        found = lines(path)
        assert [f for f, p in zip(found, plainly) if f != p] == [] and len(found) == len(plainly), path
    # Followed where it could be, else named.
    assert {"/good", "/bad"} <= {rpc["path"] for rpc in run.test["reference"]}
    assert {"tls", "upgraded", "unknown-protocol"} <= {row["reason"] for row in run.test["dependencies_not_tested"]}
    assert [rpc["status"] for rpc in run.test["reference"] if rpc["path"] == "/after"] == [200]
