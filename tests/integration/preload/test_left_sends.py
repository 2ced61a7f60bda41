"""A thread that is taken out of a send in which it waits, by a jump or by its end, is followed in what it does afterwards; so
is what a signal's handler does meanwhile."""
import pytest

import pairs
from conftest import PROGRAMS, PYTHON
from rpc_tree import observe
from small_apps import APPS


# A thread that leaves its send stays here, and one that comes back to it.
@pairs.only("mode", ["cancel", "handler"])
@pytest.mark.parametrize("mode, paths", [("jump", ["/after", "/jump"]), ("cancel", ["/after", "/cancel", "/cleanup"]),
                                         ("handler", ["/handler", "/within"])])
def test_what_a_thread_does_after_it_left_a_send(project, mode, paths):
    web = {"name": "web", "command": f"exec {PYTHON} {APPS}/deaf_until.py ${{port:web}}"}
    run = observe(project, [web], f"{PROGRAMS}/jumping_sends {mode} ${{port:web}}", complete=False)
    seen = run.test["reference"]
    assert sorted(rpc["path"] for rpc in seen) == paths
    assert {(rpc["caller"], rpc["cause"]) for rpc in seen} == {("test", "entry")}
    assert all(rpc["stack"] for rpc in seen), "each by the thread that made it"
