"""Fields of gRPC messages that vary from run to run: found without a schema, shown by name where one is known, masked,
proposed, and refused where a mask is too broad."""
import json

import pytest

import pairs
from shop_app import make_stubs, shop

CALL = {"caller": "gateway", "service": "pricing", "method": "POST", "path": "/shop.PricingService/GetPrice"}
MASK = {"message": ["/3/1"], "response": ["/2"]}


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    return make_stubs(tmp_path_factory.mktemp("stubs"))


def explored_whole(run):
    """All 5 default faults at each of the two calls, as where nothing varies."""
    assert (run.exit_code, run.executed) == (0, 11) and run.test["finished"], run
    assert run.test["counts"]["abandoned"] == 0 and run.test["skipped"] == [], run.test["skipped"]


# Where no schema is known. Messages whose schema was asked for are in test_reflection.py.
@pairs.only("known", ["nothing"])
@pytest.mark.parametrize("known", ["descriptors", "reflection", "nothing"])
def test_what_varies_in_a_message_is_masked_and_proposed(stubs, project, known):
    made = shop(stubs, "--varies", reflects="v1" if known == "reflection" else "")
    if known == "nothing":
        made |= {"descriptors": [], "reflection": False}
        made["tests"][0]["command"] = made["tests"][0]["command"].replace("shop.py test", "shop.py plain")
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    explored_whole(run)
    names = ["", ""] if known == "nothing" else [" (trace.id)", " (quote)"]
    varied = {row["what"]: row["effect"] for row in run.test["nondeterminism"]["varied"]}
    assert varied == {f"message field /3/1{names[0]}": "masked",
                      f"message field /2{names[1]} of the answer": "masked"}, run.test["nondeterminism"]
    assert run.test["nondeterminism"]["proposed"] == [{"on": CALL, "mask": MASK}]
    # Written down, two runs suffice.
    project.write("filibuster.json", made | {"nondeterminism": run.test["nondeterminism"]["proposed"]})
    again = project.filibuster("run")
    explored_whole(again)
    assert again.test["nondeterminism"]["proposed"] == []
    assert {row["effect"] for row in again.test["nondeterminism"]["varied"]} == {"masked"}


def test_calls_that_differ_in_more_than_what_varies_stay_apart(stubs, project):
    made = shop(stubs, "--varies=twice")
    made["tests"][0]["command"] = made["tests"][0]["command"].replace("shop.py test", "shop.py plain")
    project.write("filibuster.json", made)
    run = project.filibuster("run", "--fault", "grpc:ABORTED")
    # GetCart, the first GetPrice, the second: and no two of them in one execution, since a failure ends Checkout's calls.
    assert (run.exit_code, run.executed, run.test["counts"]["abandoned"]) == (0, 4, 0), run
    # One call site and, masked, one identifier: the code tells them apart, not their count.
    counts = [rpc["count"] for rpc in run.test["reference"] if rpc["grpc"] == "shop.PricingService/GetPrice"]
    assert counts == [1, 1]
    indexes = [rpc["index"] for rpc in run.test["reference"] if rpc["grpc"] == "shop.PricingService/GetPrice"]
    assert len(set(indexes)) == 2


def test_a_mask_that_is_too_broad_is_refused(stubs, project):
    project.write("filibuster.json", shop(stubs, "--varies=twice", nondeterminism=[
        {"on": CALL, "mask": {"message": ["/2", "/3"]}}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "a mask is too broad" in run.errors, run
    assert "which message field /2 (code) tells apart" in run.errors, run


@pairs.only("grpc", ["PricingService"])
@pytest.mark.parametrize("grpc", ["shop.PricingService/GetPrice", "PricingService"])
def test_a_rule_names_the_call_as_fault_rules_do(stubs, project, grpc):
    project.write("filibuster.json", shop(stubs, "--varies", nondeterminism=[{"on": {"grpc": grpc}, "mask": MASK}]))
    run = project.filibuster("run")
    explored_whole(run)
    assert run.test["nondeterminism"]["proposed"] == [], run.test["nondeterminism"]
    assert {row["effect"] for row in run.test["nondeterminism"]["varied"]} == {"masked"}


@pytest.mark.parametrize("mask, said", [
    (["3.1"], "is no path of field numbers such as \"/3/1\""), (["/trace/id"], "is no path of field numbers such as \"/3/1\""),
    (["/0"], "is no path of field numbers"), (["/*"], "would mask the whole body"), (["/3/*"], "is no path of field numbers"),
])
def test_what_is_no_path_of_numbers_is_refused_with_its_place(stubs, project, mask, said):
    project.write("filibuster.json", json.dumps(shop(stubs, nondeterminism=[{"on": CALL, "mask": {"message": mask}}])))
    run = project.filibuster("run")
    assert run.exit_code == 2 and said in run.errors and "filibuster.json:1:" in run.errors, run
