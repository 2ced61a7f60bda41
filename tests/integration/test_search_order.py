"""In which order executions come: whoever stops a run has seen the most (docs/configuration.md, "The order of executions")."""
import itertools
import json
import shutil

import pytest

import pairs
from conftest import PYTHON
from documents import events
from small_apps import APPS, config, probe, relay, url

FAULTS = ["503", "refused"]


@pytest.fixture
def shop(project):
    ports = " ".join(f"${{port:{name}}}" for name in ("gateway", "catalog", "payments", "stock"))
    services = [relay("catalog"), relay("payments"), relay("stock"),
                {"name": "gateway", "command": f"exec {PYTHON} {APPS}/shop_gateway.py {ports}"}]
    project.write("filibuster.json", config(services, [probe(url("gateway"))], faults=[{"inject": FAULTS}], default_faults=False,
                                            bounds={"max_faults": 3}))
    return project


def order_of(run):
    """The faults of each execution as (service, fault), in their order."""
    rows = [row["faults"] for row in events(run.output) if row["type"] == "execution"]
    return [[(text.split(" -> ")[1].split()[0], text.split(": ")[-1].split(" ")[0]) for text in faults] for faults in rows]


def test_each_call_site_has_a_fault_before_any_has_another_one(shop):
    run = shop.filibuster("run", "--json")
    order = order_of(run)
    assert run.exit_code == 1, run
    # Three sites, and two further attempts of the one that is retried.
    first = order[:5]
    assert {service for faults in first for service, _ in faults} == {"catalog", "payments", "stock"}, order
    # All attempts fail together, with the first fault of that site.
    (together,) = [faults for faults in first if len(faults) == 3]
    assert {service for service, _ in together} == {"payments"} and len({fault for _, fault in together}) == 1, order
    # Single faults come before pairs, but for those attempts. (Each of the five RPCs has as many as there are faults.)
    single = [faults for faults in order if len(faults) == 1]
    rest = [faults for faults in order if faults not in first]
    assert len(single) == 5 * len(FAULTS) and [len(faults) for faults in rest] == sorted(len(faults) for faults in rest), order
    # What failed comes first at the sites that are left, and each site gives each of its faults before one comes twice.
    for service in ("payments", "stock"):
        mine = [fault for ((of, fault),) in single if of == service]
        assert sorted(mine) == sorted(set(mine)), order
    catalog = [fault for ((of, fault),) in single if of == "catalog"]
    assert all(len(set(catalog[at:at + 2])) == 2 for at in (0, 2, 4)), order


# A bounded run has its order in the test below, and two lanes in test_tests_take_turns_in_whatever_order_they_stand.
@pytest.mark.whole
def test_the_order_is_that_of_one_lane_and_of_a_bounded_run(shop):
    whole = order_of(shop.filibuster("run", "--json"))
    shutil.rmtree(shop.root)  # an earlier report would say what is suspect
    lanes = shop.filibuster("run", "--json", "-j", "2")
    assert order_of(lanes) == whole, lanes
    shutil.rmtree(shop.root)
    in_two_parts(shop, whole)


def in_two_parts(shop, whole, *options):
    """A run that its bound ends, and the one that goes on with it, go through the executions of `whole` in its order."""
    bounded = shop.filibuster("run", "--json", "--restart-session", "--max-time", "10m", *options, env={"FILIBUSTER_TIME_UP_AFTER": "9"})
    assert order_of(bounded) == whole[:8] and bounded.exit_code == 1, bounded
    assert order_of(shop.filibuster("run", "--json", *options)) == whole[8:], whole


def test_what_is_suspect_comes_first_with_and_without_a_bound(shop):
    first = order_of(shop.filibuster("run", "--json"))
    report = (shop.root / "report.json").read_text()
    whole = order_of(shop.filibuster("run", "--json"))
    assert whole != first and {frozenset(faults) for faults in whole} == {frozenset(faults) for faults in first}, (first, whole)
    shutil.rmtree(shop.root)
    shop.root.mkdir()
    (shop.root / "report.json").write_text(report)
    in_two_parts(shop, whole)


TESTS = {"pages": "/pages", "pay": "/pay", "all": "/"}


def several(shop, names):
    configuration = json.loads((shop.directory / "filibuster.json").read_text())
    configuration["tests"] = [probe(url("gateway", TESTS[name]), name=name) for name in names]
    shop.write("filibuster.json", configuration)


def is_pair(faults):
    """Attempts of one call that fail together are none."""
    return len(faults) > 1 and {service for service, _ in faults} != {"payments"}


# One order on one lane, and one on two.
@pairs.only("id", ["pages-pay-all", "all-pay-pages"])
@pytest.mark.parametrize("names", itertools.permutations(TESTS), ids="-".join)
def test_tests_take_turns_in_whatever_order_they_stand(shop, names):
    several(shop, names)
    lanes = 2 if names[0] == "all" else 1
    run = shop.filibuster("run", "--json", "-j", lanes)
    assert run.exit_code == 1, run
    kinds = [row["type"] for row in events(run.output) if row["type"] in ("reference", "execution")]
    assert kinds[:4] == ["reference"] * 3 + ["execution"], run  # all references come first
    order = order_of(run)
    # Each of the three call sites has had a fault after three executions, in whichever test. (Two lanes do not wait for each other.)
    assert lanes == 2 or {service for faults in order[:3] for service, _ in faults} == {"catalog", "payments", "stock"}, order
    pairs = [at for at, faults in enumerate(order) if is_pair(faults)]
    single = [at for at, faults in enumerate(order) if len(faults) == 1]
    assert max(single) < min(pairs), order
    reports = {test["test"]: test for test in run.report["tests"]}
    assert list(reports) == list(names) and not any(test["counts"]["open"] > test["counts"]["beyond_bound"] for test in reports.values()), run
    # What a test has found does not depend on the others.
    shutil.rmtree(shop.root)
    alone = shop.filibuster("run", "--json", "--test", "pay")
    assert [row["id"] for row in alone.report["tests"][0]["findings"]] == [row["id"] for row in reports["pay"]["findings"]] != []
    assert alone.report["tests"][0]["counts"] == reports["pay"]["counts"]


# A run of one test that goes on is in test_what_is_suspect_comes_first_with_and_without_a_bound.
@pytest.mark.whole
def test_an_interrupted_run_goes_on_with_each_of_its_tests(shop):
    several(shop, TESTS)
    whole = shop.filibuster("run", "--json")
    shutil.rmtree(shop.root)
    part = shop.filibuster("run", "--json", "--restart-session", "--max-time", "10m", env={"FILIBUSTER_TIME_UP_AFTER": "4"})
    assert all(test["time_over"] for test in part.report["tests"]), part
    rest = shop.filibuster("run", "--json")
    counts = [[test["counts"]["executed"] for test in run.report["tests"]] for run in (whole, rest)]
    assert counts[0] == counts[1] and rest.exit_code == whole.exit_code == 1, rest
    assert len(order_of(part)) + len(order_of(rest)) == len(order_of(whole)), rest


def test_all_attempts_fail_early_whatever_the_bound_on_faults(shop):
    run = shop.filibuster("run", "--json", "--max-faults", "1")
    order = order_of(run)
    assert run.exit_code == 1 and [len(faults) for faults in order if len(faults) > 1] == [3], run
    (together,) = [faults for faults in order if len(faults) == 3]
    test = run.report["tests"][0]
    (finding,) = [row for row in test["findings"] if len(row["faults"]) == 3]
    assert [(row["service"], row["fault"]) for row in finding["faults"]] == together
    # It is a set of faults like any other: it counts, it is replayed, and JUnit has it.
    assert test["counts"]["executed"] == len(order) + 1
    replay = shop.filibuster("replay", finding["counterexample"])
    assert replay.exit_code == 1, replay
    assert finding["id"] in (shop.root / "junit.xml").read_text()
    # Where the search comes to the set, it is not run again, and has the same key.
    whole = shop.filibuster("run", "--json", "--restart-session")
    again = [faults for faults in order_of(whole) if faults == together]
    assert len(again) == 1 and finding["id"] in [row["id"] for row in whole.report["tests"][0]["findings"]], whole
