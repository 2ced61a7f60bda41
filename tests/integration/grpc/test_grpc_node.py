"""grpc-js, and with it Node's http2: all kinds of calls, as client and as server. (http2 alone: runtimes/test_node.py.)"""
import pytest

import gateway_faults
from conftest import BUILD, Project
from gateways import NODE_MODULES, ask, attributions, node, observe_matrix, table

LOG = BUILD / "tests" / "grpc_node" / "npm.log"
pytestmark = pytest.mark.skipif(
    not NODE_MODULES.with_name("installed").exists(),
    reason=f"grpc-js is not there: npm ci said {LOG.read_text()[:400] if LOG.exists() else 'nothing (make test-programs)'}")

KINDS = ["promise", "callback", "stream", "talk", "timer", "http"]
NUMBERS, ROUNDS = [1, 2, 8], 2
CALLS = 4  # of one request, and of that which it makes of its own service


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("matrix"))
    try:
        yield observe_matrix(project, node(env={"BEAT": "1"}), ask(KINDS, NUMBERS, ROUNDS))
    finally:
        project.end()


def test_every_call_has_the_request_that_caused_it(matrix):
    found = attributions(matrix)
    print(table(found))
    background = found.pop("background")
    assert background["wrong"] == 0 and background["right"] > 10
    assert found == {(kind, number): {"right": number * ROUNDS * CALLS} for kind in KINDS for number in NUMBERS}


def test_calls_of_every_kind(project):
    made = gateway_faults.observe_kinds(project, node(), ["callback"], gateway_faults.CLIENTS)
    assert {rpc["cause"] for rpc in made} == {"task"}


def test_faults_meet_the_call_that_they_are_meant_for(project):
    gateway_faults.check_faults(project, node(), "callback", gateway_faults.PAIRWISE)


def test_a_refused_connection(project):
    gateway_faults.check_refused(project, node(), "callback", "ECONNREFUSED")


def test_a_silence(project):
    gateway_faults.check_silence(project, node(), "callback")


# Fewer calls have their faults above.
@pytest.mark.whole
def test_exactly_the_chosen_calls_of_many_at_once_fail(project):
    gateway_faults.check_chosen(project, node(), "callback", 8, 50)


def test_each_attempt_of_a_retried_call_is_an_rpc_of_its_own(project):
    gateway_faults.check_retries(project, node(), "callback")


@pytest.mark.whole
def test_every_fault_at_every_kind_of_call(project):
    methods = dict.fromkeys(gateway_faults.LINES)
    gateway_faults.check_faults(project, node(), "callback", {method: [*gateway_faults.STATUSES] for method in methods})


@pytest.mark.whole
def test_exactly_the_chosen_of_eight_thousand_calls_fail(project):
    gateway_faults.check_chosen(project, node(), "callback", 8, 1000)
