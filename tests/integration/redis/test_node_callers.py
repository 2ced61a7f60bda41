"""Commands that Node writes from its loop: each has the request that caused it and the line that made it, also where a
library writes the commands of several requests together."""
import re

import pytest

import pairs
from conftest import PYTHON, REPOSITORY
from rpc_tree import observe
from small_apps import APPS, url
from test_cache_aside import missing

PROGRAM = APPS / "node" / "commands.js"
PACKAGES = REPOSITORY / "build" / "corpus" / "cache-aside"


def line_of(mark):
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith(f"// site {mark}"))


# Each package, alone and with requests at once.
@pairs.each("package, number", [("ioredis", 8), ("redis", 1)])
@pytest.mark.parametrize("number", [1, 8])
@pytest.mark.parametrize("package", ["ioredis", "redis"])
def test_every_command_has_the_request_that_caused_it_and_the_line_that_made_it(project, package, number):
    reason = missing("node-redis")
    if reason is not None:
        pytest.skip(f"NOT TESTED HERE: {package} in Node: {reason}")
    services = [
        {"name": "cache", "protocol": "redis",
         "command": "exec redis-server --port ${port:cache} --bind 127.0.0.1 --save '' --appendonly no"},
        {"name": "web", "command": f"exec node {PROGRAM} ${{port:web}} {number} ${{port:cache}} {package}",
         "env": {"PACKAGES": str(PACKAGES)}, "ready": {"http": "/health"}}]
    run = observe(project, services, f"exec {PYTHON} {APPS}/many.py {number} {url('web', '')}", complete=False)
    requests = {rpc["index"]: rpc["path"] for rpc in run.test["reference"] if rpc["caller"] == "test"}
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web"]
    beats = [rpc for rpc in calls if rpc["method"] == "INCR"]
    asked = [rpc for rpc in calls if rpc["method"] != "INCR"]

    assert sorted((rpc["method"], requests[rpc["parent"]], rpc["path"]) for rpc in asked) == sorted(
        (method, f"/{n}", f"{name}:{key}") for n, name in enumerate("abcdefgh"[:number])
        for method, key in (("GET", "first"), ("SET", "second"))), run
    assert {rpc["cause"] for rpc in asked} == {"task"}, run
    for method, mark in (("GET", "first"), ("SET", "second")):
        sites = {tuple(re.search(r"[^/]*:\d+", frame)[0] for frame in rpc["stack"]) for rpc in asked if rpc["method"] == method}
        assert sites == {(f"commands.js:{line_of(mark)}",)}, sites
    # The timer is no request's, although some are open.
    assert beats and {rpc["cause"] for rpc in beats} == {"none"}, run
