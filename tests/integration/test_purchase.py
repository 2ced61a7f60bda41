"""The purchase application: gRPC services in C++ and Python. Its bugs are found, its repaired variants are silent."""
import re

import pytest

from conftest import CORPUS

README = (CORPUS / "purchase" / "README.md").read_text()


def explore(project, variant, *options):
    return project.filibuster("run", "-c", CORPUS / "purchase" / f"{variant}.json", *options)


@pytest.mark.whole
@pytest.mark.parametrize("variant", ["hard", "discounts"])
def test_nothing_is_found_where_nothing_is_wrong(project, variant):
    run = explore(project, variant, *(["--reduce", "published"] if variant == "discounts" else []))
    assert run.exit_code == 0 and run.test["finished"], run
    assert run.test["without_cause"] == [] and run.test["skipped"] == [], run
    if variant == "discounts":
        (derived,) = re.findall(r"^`discounts\.json` has one.*?\*\*(\d+)\*\*", README, re.M | re.S)
        assert run.executed == int(derived), run


def only_fault(run):
    assert run.exit_code == 1 and run.test["finished"], run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert finding["reproduced"] is True, run
    return finding, fault


# A timeout that only real time finds is in test_corpus_bugs.py, too.
@pytest.mark.whole
def test_a_timeout_that_is_longer_than_the_callers_costs_the_discount(project):
    finding, fault = only_fault(explore(project, "latent-bug"))
    assert (fault["caller"], fault["service"], fault["path"], fault["fault"]) == (
        "pricing", "shipping", "/shop.ShippingService/GetRate", "timeout")
    assert "expected a total of 9000, got 10000" in finding["first"]["output"]


# The test below finds the same bug by one of its faults.
@pytest.mark.whole
def test_a_failure_after_the_transfer_takes_the_money(project):
    run = explore(project, "half-done")
    assert run.exit_code == 1 and run.test["finished"], run
    faults = [fault for finding in run.test["findings"] for fault in finding["faults"]]
    assert {fault["path"] for fault in faults} == {"/shop.CartService/NotifyOrder"}, run
    assert all("the money moved" in finding["first"]["output"] for finding in run.test["findings"]), run


def test_a_finding_names_the_call_as_people_write_it_and_is_replayed(project):
    run = explore(project, "half-done", "--fault", "grpc:UNAVAILABLE")
    _, fault = only_fault(run)
    assert "order.cc:" in fault["call_site"] and "notify" in fault["call_site"], fault
    assert "order -> cart  shop.CartService/NotifyOrder" in run.output, run
    (counterexample,) = run.counterexamples
    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 1 and "the money moved" in replay.output, replay
