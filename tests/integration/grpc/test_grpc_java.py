"""grpc-java on Debian's packages (Netty): all kinds of calls, by every kind of stub, as client and as server."""
import pytest

import gateway_faults
from gateways import java

STUBS = ["blocking", "future", "async"]
NATIVE = {"index": {"stack": False}}  # the stacks of Netty's writes vary


def test_calls_of_every_kind(project):
    gateway_faults.observe_kinds(project, java(), STUBS, gateway_faults.CLIENTS)


def test_faults_meet_the_call_that_they_are_meant_for(project):
    gateway_faults.check_faults(project, java(), "blocking", gateway_faults.PAIRWISE, **NATIVE)


def test_a_refused_connection(project):
    gateway_faults.check_refused(project, java(), "future", "io exception", **NATIVE)


def test_a_silence(project):
    gateway_faults.check_silence(project, java(), "async", **NATIVE)


@pytest.mark.long
@pytest.mark.parametrize("stub", STUBS)
def test_every_fault_at_every_kind_of_call(project, stub):
    methods = dict.fromkeys(gateway_faults.LINES)
    gateway_faults.check_faults(project, java(), stub, {method: [*gateway_faults.STATUSES] for method in methods}, **NATIVE)
