"""Arguments of gRPC calls without descriptors in the configuration: the services are asked for them (server reflection)."""
import json

import pytest

import pairs
from conftest import FILIBUSTER, PYTHON, Project
from shop_app import make_stubs, shop

CHECKOUT = {"cart_id": "cart of s1", "code": "DAILY"}


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    return make_stubs(tmp_path_factory.mktemp("stubs"))


def asked_for(project):
    """{service: what it was asked for, in order}"""
    return {name: [line.removeprefix("asked for ") for line in
                   (project.root / "logs" / f"{name}-0.log").read_text().splitlines() if line.startswith("asked for")]
            for name in ("gateway", "cart", "pricing")}


@pytest.fixture(scope="module", params=["v1", "v1alpha"])
def explored(request, stubs, tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("explored"))
    made.write("filibuster.json", shop(stubs, "--bug", reflects=request.param))
    yield made, made.filibuster("run")
    made.end()


# The version of today; v1alpha has the same messages.
@pairs.only("explored", ["v1"])
def test_arguments_are_known_and_asked_for_as_with_descriptors(explored):
    project, run = explored
    # As test_session.py has it with descriptors; the predicates of shop.py ask for arguments in each execution.
    counts = run.test["counts"]
    assert run.exit_code == 1 and (counts["executed"], counts["abandoned"]) == (11, 0), run
    (finding,) = run.test["findings"]
    assert finding["faults"][0]["arguments"] == CHECKOUT
    reference = {rpc["grpc"]: rpc["arguments"] for rpc in run.test["reference"]}
    assert reference == {"shop.Gateway/Checkout": {"session_id": "[redacted]"}, "shop.CartService/GetCart": {"session_id": "[redacted]"},
                         "shop.PricingService/GetPrice": CHECKOUT}
    assert not [note for note in run.test["notes"] if "not known" in note], run.test["notes"]


@pairs.only("explored", ["v1"])
def test_each_service_is_asked_once_and_for_what_its_files_import(explored):
    project, _ = explored
    # All three have the one file, and say of it what the first one did.
    assert asked_for(project) == {"gateway": ["shop.Gateway", "price.proto"], "cart": ["shop.CartService", "price.proto"],
                                  "pricing": ["shop.PricingService", "price.proto"]}


@pairs.only("explored", ["v1"])
def test_no_execution_sees_that_services_were_asked(explored):
    _, run = explored
    assert [rpc["grpc"] for rpc in run.test["reference"]] == [
        "shop.Gateway/Checkout", "shop.CartService/GetCart", "shop.PricingService/GetPrice"]
    assert run.test["dependencies_not_tested"] == run.test["without_cause"] == run.test["skipped"] == []
    assert run.test["nondeterminism"]["varied"] == [], run.test["nondeterminism"]
    assert not [note for note in run.test["notes"] if "late" in note or "reflection" in note], run.test["notes"]


@pairs.only("explored", ["v1"])
def test_a_counterexample_has_what_the_services_said(explored):
    project, run = explored
    (counterexample,) = run.counterexamples
    assert json.loads(counterexample.read_text())["descriptors"]
    before = asked_for(project)
    replayed = project.filibuster("replay", counterexample)
    assert replayed.exit_code == 1 and "reproduced" in replayed.output, replayed
    assert "AssertionError" in replayed.output and "RuntimeError" not in replayed.output
    # The logs are those of the replay.
    assert asked_for(project) == {name: [] for name in before}


def test_trace_shows_arguments(stubs, project):
    project.write("filibuster.json", shop(stubs, reflects="v1"))
    run = project.filibuster("trace")
    assert 'shop.PricingService/GetPrice {"cart_id":"cart of s1","code":"DAILY"} -> OK' in run.output, run


@pytest.mark.parametrize("reflects, reflection", [("", True), ("v1", False)])
def test_a_service_that_does_not_say_or_is_not_asked_is_no_error(stubs, project, reflects, reflection):
    made = shop(stubs, reflects=reflects, reflection=reflection)
    made["descriptors"] = []
    # The plain functional test asks for no arguments.
    made["tests"][0]["command"] = f"exec {PYTHON} {project.write('plain.py', PLAIN)} 127.0.0.1:${{port:gateway}}"
    project.write("filibuster.json", made)
    run = project.filibuster("run", "--fault", "grpc:ABORTED")
    assert (run.exit_code, run.executed) == (0, 3), run
    assert {rpc["arguments"] for rpc in run.test["reference"]} == {None}
    notes = [note for note in run.test["notes"] if "are not known" in note]
    if not reflection:
        assert notes == [] and set(map(len, asked_for(project).values())) == {0}
    else:
        assert len(notes) == 3 and all("no server reflection" in note and "UNIMPLEMENTED" in note for note in notes), notes


PLAIN = """
import sys
import grpc
import shop_pb2, shop_pb2_grpc
try:
    shop_pb2_grpc.GatewayStub(grpc.insecure_channel(sys.argv[1])).Checkout(shop_pb2.CheckoutRequest(session_id="s1"))
except grpc.RpcError:
    pass
"""


def test_questions_are_checked_against_what_the_service_said(stubs, project):
    made = shop(stubs, reflects="v1", default_faults=False, faults=[
        {"on": {"grpc": "shop.PricingService"}, "inject": "grpc:ABORTED"}])
    made["tests"][0]["command"] += f"; {FILIBUSTER} was-fault-injected --grpc shop.PricingService/GetPrice --argument cod=x || [ $? = 1 ]"
    made["tests"][0]["command"] = made["tests"][0]["command"].removeprefix("exec ")
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    # Of a service that was not called yet nothing can be wrong.
    assert "has no field 'cod', did you mean 'code'?" in run.errors + run.output, run
