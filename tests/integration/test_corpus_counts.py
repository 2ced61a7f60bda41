"""Each example application is explored in exactly the executions that its README derives by hand.

The same comparison must fail when the search is broken on purpose: then it can fail.
"""
import re

import pytest

import pairs
from conftest import CORPUS
from corpus import PUBLISHED_FAULTS, applications, fault_options, in_place

# An application is finished when its README derives its counts.
APPLICATIONS = sorted(name for name, path in applications().items() if (path.parent / "README.md").exists())

# Which stay in `make test`: one application for each table, and besides, where the calls come at the same time. cinema-3 has what the
# reduction removes, below one another; cinema-1 calls in a row, and is small.
REDUCED = ["cinema-3", "hello-world"]
NOT_REDUCED = ["cinema-1"]
PUBLISHED_REDUCED = ["cinema-2"]
PUBLISHED_NOT_REDUCED = ["cinema-1"]
# Thousands of executions, or timeouts that cannot be elapsed: in `make test` with single faults only.
LONG = ["mailchimp", "netflix"]


def derived(application):
    """{fault set: (without, with the published reduction)} from the table at the end of the application's README."""
    text = (CORPUS / application / "README.md").read_text()
    rows = re.findall(r"^\| (default set|500, 502, 503, 504) \| (\d+) \| (\d+) \|$", text, re.M)
    assert len(rows) == 2, f"corpus/{application}/README.md has no table of derived counts"
    return {faults: (int(without), int(reduced)) for faults, without, reduced in rows}


def explore(project, application, *options):
    run = project.filibuster("run", "-c", CORPUS / application / "filibuster.json", *options)
    assert run.exit_code == 0, run
    assert run.test["finished"], run
    return run


@pairs.only("application", REDUCED)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_default_faults_with_reduction_take_the_derived_executions(project, application):
    run = explore(project, application, "--reduce", "published")
    assert run.executed == derived(application)["default set"][1], run


@pairs.only("application", NOT_REDUCED)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_default_faults_without_reduction_take_the_derived_executions(project, application):
    run = explore(project, application, "--no-reduction")
    assert run.executed == derived(application)["default set"][0], run


@pairs.only("application", PUBLISHED_REDUCED)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_published_faults_with_reduction_take_the_published_executions(project, application):
    run = explore(project, application, *fault_options(PUBLISHED_FAULTS), "--reduce", "published")
    assert run.executed == derived(application)[", ".join(PUBLISHED_FAULTS)][1], run


@pairs.only("application", PUBLISHED_NOT_REDUCED)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_published_faults_without_reduction_take_the_published_executions(project, application):
    run = explore(project, application, *fault_options(PUBLISHED_FAULTS), "--no-reduction")
    assert run.executed == derived(application)[", ".join(PUBLISHED_FAULTS)][0], run


def more_derived(application, faults):
    """The row of the README's table that only this application has."""
    text = (CORPUS / application / "README.md").read_text()
    ((without, reduced),) = re.findall(rf"^\| {faults} \| (\d+) \| (\d+) \|$", text, re.M)
    return int(without), int(reduced)


@pairs.only("application, reduce", [("netflix", True)])
@pytest.mark.parametrize("application", LONG)
@pytest.mark.parametrize("reduce", [True, False], ids=["reduced", "all"])
def test_single_faults_of_long_applications_take_the_derived_executions(project, application, reduce):
    run = project.filibuster("run", "-c", CORPUS / application / "filibuster.json", "--max-faults", "1",
                             "--reduce", "published" if reduce else "off")
    assert run.exit_code == 0, run
    assert run.executed == more_derived(application, "default set, one at a time")[1 if reduce else 0], run


@pytest.mark.whole
@pytest.mark.parametrize("reduce", [True, False], ids=["reduced", "all"])
def test_statuses_of_the_application_only_take_the_published_executions(project, reduce):
    """cinema-4, whose third parties the published tools give no statuses."""
    counts = more_derived("cinema-4", "500, 502, 503, 504, application only")
    config = in_place(CORPUS / "cinema-4" / "filibuster.json")
    config["faults"] = [{"on": {"service": row["name"]}, "inject": [int(fault) for fault in PUBLISHED_FAULTS]}
                        for row in config["services"] if not row.get("third_party")]
    config["default_faults"] = False
    run = project.filibuster("run", "-c", project.write("filibuster.json", config),
                             "--reduce", "published" if reduce else "off")
    assert run.exit_code == 0 and run.executed == counts[1 if reduce else 0], run


# The cheaper one: that the JVM has the same indexes each time is in runtimes/test_jvm.py.
@pairs.only("runtime", ["node"])
@pytest.mark.parametrize("runtime", ["node", "java"])
def test_the_concurrent_calls_of_other_runtimes_take_the_derived_executions(project, runtime):
    run = project.filibuster("run", "-c", CORPUS / "hello-world" / f"{runtime}.json",
                             *fault_options(PUBLISHED_FAULTS), "--no-reduction")
    assert run.exit_code == 0 and run.test["finished"], run
    assert run.executed == derived("hello-world")[", ".join(PUBLISHED_FAULTS)][0], run


def test_without_invocation_counts_the_derived_number_is_missed(project):
    run = project.filibuster("run", "-c", CORPUS / "cinema-3" / "filibuster.json", "--no-reduction",
                             "--index-without", "count")
    assert run.executed != derived("cinema-3")["default set"][0], run


# That the comparison can fail is in the test above.
@pytest.mark.whole
def test_in_the_wrong_order_the_derived_number_is_missed(project):
    run = project.filibuster("run", "-c", CORPUS / "cinema-2" / "filibuster.json", *fault_options(PUBLISHED_FAULTS),
                             "--reduce", "published", env={"FILIBUSTER_BREAK_SEARCH_ORDER": "1"})
    assert run.executed != derived("cinema-2")[", ".join(PUBLISHED_FAULTS)][1], run
