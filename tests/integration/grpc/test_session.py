"""A gRPC application (shop.py) explored whole: default faults, rules, predicates, reports, replay."""
import json
import signal

import pytest

from conftest import PYTHON, Project, wait_until
from shop_app import make_stubs, shop


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    return make_stubs(tmp_path_factory.mktemp("stubs"))


@pytest.fixture(scope="module")
def explored(stubs, tmp_path_factory):
    """One exploration of the application with its bug, for the tests that only read."""
    made = Project(tmp_path_factory.mktemp("explored"))
    made.write("filibuster.json", shop(stubs, "--bug"))
    yield made, made.filibuster("run")
    made.end()


def test_only_unavailable_shows_the_bug(explored):
    _, run = explored
    # Checkout asks GetCart, then GetPrice; 5 default faults each. Under a fault of GetCart GetPrice is not
    # asked, so there are no combinations: 1 + 5 + 5 executions. All are of one group with different
    # outcomes: none is redundant.
    assert run.exit_code == 1, run
    counts = run.test["counts"]
    assert (counts["executed"], counts["redundant"], counts["abandoned"]) == (11, 0, 0), run
    assert run.test["finished"]
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert fault["fault"] == "grpc:UNAVAILABLE" and fault["grpc"] == "shop.PricingService/GetPrice", finding
    assert (fault["caller"], fault["service"], fault["method"]) == ("gateway", "pricing", "POST")
    assert fault["arguments"] == {"cart_id": "cart of s1", "code": "DAILY"}
    assert fault["service_path"] == ["test", "gateway", "pricing"]
    assert "shop.py:" in fault["call_site"] and "Checkout" in fault["call_site"]
    assert finding["reproduced"] is True


def test_a_grpc_call_is_shown_as_one(explored):
    _, run = explored
    assert "gateway -> pricing  shop.PricingService/GetPrice\n" in run.output
    assert "fault         grpc:UNAVAILABLE: gRPC status UNAVAILABLE" in run.output
    assert '"code":"DAILY"' in run.output
    assert "POST" not in run.output, run
    reference = {rpc["grpc"]: rpc for rpc in run.test["reference"]}
    assert set(reference) == {"shop.Gateway/Checkout", "shop.CartService/GetCart", "shop.PricingService/GetPrice"}
    for rpc in reference.values():
        assert (rpc["status"], rpc["grpc_status"], rpc["grpc_message"], rpc["stream_error"]) == (200, "OK", "", "")
        assert {"HTTP/2", "gRPC"} <= set(rpc["tags"])
    assert reference["shop.CartService/GetCart"]["arguments"] == {"session_id": "[redacted]"}


def test_the_counterexample_replays(explored):
    project, run = explored
    (counterexample,) = run.counterexamples
    replayed = project.filibuster("replay", counterexample)
    assert replayed.exit_code == 1, replayed
    assert "gateway -> pricing shop.PricingService/GetPrice: grpc:UNAVAILABLE" in replayed.output


@pytest.mark.whole
def test_without_the_bug_nothing_is_found(stubs, project):
    project.write("filibuster.json", shop(stubs))
    run = project.filibuster("run")
    assert (run.exit_code, run.executed, run.test["findings"]) == (0, 11, []), run


def test_rules_name_methods_and_statuses_have_messages(stubs, project):
    project.write("filibuster.json", shop(stubs, default_faults=False, faults=[
        {"on": {"grpc": "CartService/GetCart"},
         "inject": [{"grpc": "RESOURCE_EXHAUSTED", "message": "too many: 100%"}, 503, "timeout"]},
        {"on": {"grpc": "shop.Nothing"}, "inject": "grpc:INTERNAL"}]))
    run = project.filibuster("run")
    # 1 + 3, and GetPrice has no fault. Clients make UNAVAILABLE of 503, and DEADLINE_EXCEEDED of silence.
    assert (run.exit_code, run.executed, run.test["counts"]["abandoned"]) == (0, 4, 0), run
    assert 'gRPC calls CartService/GetCart: grpc:RESOURCE_EXHAUSTED "too many: 100%", status:503, timeout' in run.test["fault_configuration"]
    assert any("gRPC calls shop.Nothing matched no RPC" in note for note in run.test["notes"]), run


def test_what_the_caller_reads_is_what_was_configured(stubs, project):
    config = shop(stubs, default_faults=False, faults=[
        {"on": {"method": "GetCart"}, "inject": {"grpc": "ABORTED", "message": "no stock: 100% ü"}}])
    # Expects of a faulted checkout what the caller of GetCart was told.
    config["tests"][0]["command"] = f"exec {PYTHON} {project.write('expects.py', EXPECTS)} 127.0.0.1:${{port:gateway}}"
    project.write("filibuster.json", config)
    run = project.filibuster("run")
    assert (run.exit_code, run.executed) == (0, 2), run


EXPECTS = """
import sys
import grpc
import shop_pb2, shop_pb2_grpc
from filibuster_predicates import was_fault_injected
stub = shop_pb2_grpc.GatewayStub(grpc.insecure_channel(sys.argv[1]))
try:
    stub.Checkout(shop_pb2.CheckoutRequest(session_id="s1"), timeout=30)
    assert not was_fault_injected()
except grpc.RpcError as error:
    assert was_fault_injected(method="GetCart", fault="grpc:10")
    assert (error.code(), error.details()) == (grpc.StatusCode.ABORTED, "no cart: no stock: 100% \\u00fc"), error
"""


def test_trace_shows_methods_arguments_and_statuses(stubs, project):
    project.write("filibuster.json", shop(stubs))
    run = project.filibuster("trace")
    assert run.exit_code == 0, run
    assert 'test -> gateway  shop.Gateway/Checkout {"session_id":"[redacted]"} -> OK' in run.output, run
    assert '`- gateway -> pricing  shop.PricingService/GetPrice {"cart_id":"cart of s1","code":"DAILY"} -> OK' in run.output


def test_lint_knows_grpc_calls(stubs, project):
    project.write("filibuster.json", shop(stubs))
    project.filibuster("lint")
    lint = json.loads((project.root / "lint.json").read_text())
    (test,) = lint["tests"]
    sites = {site["grpc"]: site for site in test["call_sites"]}
    assert sites["shop.CartService/GetCart"]["timeout"] == "fires", test
    assert sites["shop.PricingService/GetPrice"]["timeout"] == "fires", test
    assert not [finding for finding in test["findings"] if finding["lint"] == "no-timeout"], test


def test_arguments_that_are_not_known_are_no_answer(stubs, project):
    config = shop(stubs, default_faults=False, faults=[{"on": {"grpc": "shop.CartService"}, "inject": "grpc:ABORTED"}])
    script = project.write("long_session.py", LONG_SESSION)
    config["tests"][0]["command"] = f"exec {PYTHON} {script} 127.0.0.1:${{port:gateway}}"
    project.write("filibuster.json", config)
    run = project.filibuster("run")
    assert (run.exit_code, run.executed) == (0, 2), run


LONG_SESSION = """
import sys
import grpc
import shop_pb2, shop_pb2_grpc
from filibuster_predicates import was_fault_injected
session = "s" * 600  # longer than what is recorded of a request
stub = shop_pb2_grpc.GatewayStub(grpc.insecure_channel(sys.argv[1]))
try:
    stub.Checkout(shop_pb2.CheckoutRequest(session_id=session), timeout=30)
    assert not was_fault_injected(arguments={"session_id": session})
except grpc.RpcError:
    assert was_fault_injected(grpc="shop.CartService")
    try:
        was_fault_injected(grpc="shop.CartService", arguments={"session_id": session})
        sys.exit("it was answered")
    except RuntimeError as error:
        assert "its request is longer than what is recorded" in str(error), error
"""


# Interrupted explorations are in test_interruptions.py and test_resumed.py.
@pytest.mark.whole
def test_an_interrupted_exploration_goes_on(stubs, project):
    project.write("filibuster.json", shop(stubs, "--bug"))
    first = project.filibuster("run", "--max-executions", "4")
    assert first.executed == 4 and not first.test["finished"], first
    process = project.start("run")
    wait_until(lambda: (project.root / "counterexamples" / "1.json").exists(), "the bug is found")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    run = project.filibuster("run")
    # Whatever was executed before, the counts are those of one exploration.
    assert (run.exit_code, run.executed, run.test["finished"]) == (1, 11, True), run
    (finding,) = run.test["findings"]
    assert finding["faults"][0]["grpc"] == "shop.PricingService/GetPrice"
