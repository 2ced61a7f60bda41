"""A handler that goes on after its client gave up, while another request is open: what it calls is never taken for the other's
(apps/gives_up.py)."""
import pytest

import bare_servers
import pairs
from bare_servers import TOLD, UNTOLD
from conftest import PYTHON
from rpc_tree import attributions, observe
from small_apps import APPS, config, probe, url

GATE = {"name": "back", "command": f"exec {PYTHON} {APPS}/gate.py ${{port:back}}"}
CLIENT = f"exec {PYTHON} {APPS}/gives_up.py 127.0.0.1:${{port:web}} 127.0.0.1:${{port:back}}"


def executed(project, name, sees=""):
    return observe(project, [GATE, bare_servers.server(name)], f"{CLIENT} {sees}", complete=False)


@pairs.only("name", ["werkzeug", "uvicorn", "gevent", "eventlet", "node", "java", "ruby", "php"])
@pytest.mark.parametrize("name", TOLD)
def test_what_the_runtime_tells_holds_for_a_handler_that_goes_on(project, name):
    bare_servers.skip_without(name)
    right, unknown, wrong = attributions(executed(project, name))
    assert wrong == [] and unknown == [], (wrong, unknown)
    assert sorted(right) == ["/other1/0", "/other1/1", "/slow1/0", "/slow1/1"]


@pytest.mark.parametrize("name", UNTOLD)
def test_where_nothing_tells_it_no_cause_is_known_after_a_giving_up_and_a_note_says_so(project, name):
    bare_servers.skip_without(name)
    run = executed(project, name, "sees")
    right, unknown, wrong = attributions(run)
    assert wrong == [] and right == ["/slow1/0"], (wrong, right)
    assert sorted(unknown) == ["/other1/0", "/other1/1", "/slow1/1"]
    (note,) = [note for note in run.test["notes"] if "given up" in note]
    assert note.startswith("web: it is not known which request caused 3 calls in 1 execution, since a client had given up"), note
    assert len([line for line in run.test["without_cause"] if "a client had given up" in line]) == 3, run.test["without_cause"]


def test_it_ends_with_the_execution_though_the_process_lives_on(project):
    """In the second execution, after its fault."""
    plain = probe(url("back", "/go/plain/0"), url("web", "/plain"))["command"].removeprefix("exec ")
    command = f"{plain} && {{ [ $FILIBUSTER_EXECUTION -ne 2 ] || {CLIENT} sees; }}"
    project.write("filibuster.json", config(
        [GATE, bare_servers.server("native")], [{"name": "client", "command": command}], default_faults=False,
        bounds={"reference_executions": 1}, faults=[{"on": {"service": "back", "path": "/plain/*"}, "inject": [503]}]))
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and run.executed == 4, run
    assert len(run.test["rpcs"]["tested"]) == 2 and run.test["rpcs"]["untested"] == [] and not run.repeated, run.test["rpcs"]
    assert [note for note in run.test["notes"] if "3 calls in 1 execution, since a client had given up" in note], run.test["notes"]
