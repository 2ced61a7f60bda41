"""What an observer tells filibuster-proxy of tasks and call stacks is what the session sees, without eBPF."""
import pytest

from conftest import PYTHON
from proxied import behind_proxy, own
from rpc_tree import attributions, causes, observe
from small_apps import APPS, url


def observed(project, number, *options):
    back = {"name": "back", "command": f"exec {PYTHON} {APPS}/meeting.py ${{port:back}} {number}"}
    web = behind_proxy("web", "back", f"{PYTHON} {APPS}/observed.py {own('web')} ${{port:web-out}} {' '.join(options)}")
    return observe(project, [back, web], f"exec {PYTHON} {APPS}/many.py {number} {url('web', '')}", complete=False)


@pytest.mark.parametrize("number", [1, 8])
def test_a_call_is_caused_by_the_request_that_its_task_has_read(project, number):
    run = observed(project, number)
    right, unknown, wrong = attributions(run)
    assert (wrong, unknown) == ([], []), run
    assert len(right) == 2 * number and causes(run, "web") == {"task"}
    assert not [note for note in run.test["notes"] if "frame pointers" in note]


def test_call_sites_are_those_of_the_attached_program(project):
    calls = [rpc for rpc in observed(project, 2).test["reference"] if rpc["caller"] == "web"]
    sites = {(rpc["path"][-2:], *rpc["stack"]) for rpc in calls}  # each is in libc, as apps/observed.py says
    assert len(calls) == 4 and len(sites) == len({frame for _, frame in sites}) == 2, sites


def test_where_nobody_was_seen_to_read_no_cause_is_guessed(project):
    run = observed(project, 8, "--blind")
    right, unknown, wrong = attributions(run)
    assert wrong == [] and len(unknown) + len(right) == 16
    assert causes(run, "web") <= {"none", "only-active"} and len(unknown) >= 8, run


def test_alone_it_is_the_only_active_request(project):
    assert causes(observed(project, 1, "--blind"), "web") == {"only-active"}


def test_reports_name_the_attached_program_and_not_the_proxy(project):
    run = observed(project, 1)
    assert "filibuster-proxy" not in str(run.report), run
