"""grpc-java on Debian's packages (Netty): all kinds of calls, by every kind of stub, as client and as server."""
import pytest

import gateway_faults
from conftest import Project
from gateways import ask, attributions, java, observe_matrix, table

STUBS = ["blocking", "future", "async"]
KINDS = ["blocking", "future", "async", "stream", "iterator", "talk", "http", "pool", "stages", "chained", "direct"]
INLINE = ["inline-chained", "inline-direct"]  # handlers on the server's event loop
NUMBERS, ROUNDS = [1, 2, 8], 2
CALLS = 4  # of one request, and of that which it makes of its own service


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("matrix"))
    try:
        yield observe_matrix(project, java(env={"BEAT": "1"}), ask([*KINDS, "handed"], NUMBERS, ROUNDS),
                             ask(INLINE, NUMBERS, ROUNDS, port="direct"))
    finally:
        project.end()


def test_every_call_has_the_request_that_caused_it(matrix):
    """With a background caller every 5 ms in the same process."""
    found = attributions(matrix)
    print(table(found))
    background = found.pop("background")
    assert background["wrong"] == 0 and background["right"] > 10
    for number in NUMBERS:  # by means that nothing follows: never guessed
        handed = found.pop(("handed", number))
        assert handed["wrong"] == 0 and handed.total() == number * ROUNDS * CALLS
    assert found == {(kind, number): {"right": number * ROUNDS * CALLS} for kind in [*KINDS, *INLINE] for number in NUMBERS}


def test_calls_of_every_kind(project):
    made = gateway_faults.observe_kinds(project, java(), STUBS, gateway_faults.CLIENTS)
    assert {rpc["cause"] for rpc in made} == {"task"}


def test_faults_meet_the_call_that_they_are_meant_for(project):
    gateway_faults.check_faults(project, java(), "blocking", gateway_faults.PAIRWISE)


def test_a_refused_connection(project):
    gateway_faults.check_refused(project, java(), "future", "io exception")


def test_a_silence(project):
    gateway_faults.check_silence(project, java(), "async")


@pytest.mark.long
@pytest.mark.parametrize("stub", STUBS)
def test_every_fault_at_every_kind_of_call(project, stub):
    methods = dict.fromkeys(gateway_faults.LINES)
    gateway_faults.check_faults(project, java(), stub, {method: [*gateway_faults.STATUSES] for method in methods})
