"""Faults of every kind on a gRPC channel that four threads share: exactly the chosen calls fail, as planned."""
import pytest

import pairs
from calls import client, failures, fault_where, server, value_of

INTERNAL, UNAVAILABLE = 13, 14


# A reset is one of the stream (INTERNAL_ERROR) while other calls are open, else of the connection.
# An answer and an end of the stream, before and after the effect.
@pairs.only("fault", ["status:503:after", "reset"])
@pytest.mark.parametrize("fault, codes", [
    ("status:503", {UNAVAILABLE}), ("status:503:after", {UNAVAILABLE}), ("reset", {INTERNAL, UNAVAILABLE}),
    ("reset:after", {INTERNAL, UNAVAILABLE}), ("grpc:ABORTED:after", {10})])
def test_exactly_the_chosen_calls_fail(project, fault, codes):
    faulted, run, printed = fault_where(
        project, [server()], client("threads", 4, 100), lambda rpc: value_of(rpc) % 7 == 0, fault,
        index={"stack": False})
    assert run.exit_code == 1, run
    assert len(faulted) == 400 // 7
    failed = failures(printed)
    assert set(failed) == set(range(7, 401, 7)) and set(failed.values()) <= codes, printed
    assert printed.startswith(f"good {400 - 400 // 7} wrong 0 ")
