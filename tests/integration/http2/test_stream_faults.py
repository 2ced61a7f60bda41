"""What real gRPC clients see of the faults that only streams of HTTP/2 have; neighbours on the channel go on."""
import pytest

import pairs
from calls import KINDS, client, failures, fault_where, server, value_of
from small_apps import config
from test_fault_kinds import explore, statuses

CANCELLED, UNKNOWN, RESOURCE_EXHAUSTED, ABORTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 1, 2, 8, 10, 12, 13, 14
CLIENTS = ["cpp", "python"]

# What one call of many sees: the faults that end in an error, by the codes that gRPC makes of them in C++ (a message
# that cannot be parsed is no message there, and an answer without a message is UNIMPLEMENTED).
FAILING = {"stream-reset": {INTERNAL}, "stream-reset:CANCEL": {CANCELLED}, "stream-reset:CANCEL:after": {CANCELLED},
           "stream-reset:REFUSED_STREAM:after": {UNAVAILABLE}, "stream-reset:ENHANCE_YOUR_CALM": {RESOURCE_EXHAUSTED},
           "partial-message": {INTERNAL}, "corrupt-message": {UNIMPLEMENTED}, "no-trailers": {UNKNOWN, INTERNAL},
           "grpc:ABORTED@1": {ABORTED}, "stream-reset@1": {INTERNAL}}


# One of each kind, before and after its effect.
@pairs.only("fault", ["stream-reset:CANCEL:after", "partial-message", "no-trailers", "grpc:ABORTED@1"])
@pytest.mark.parametrize("fault", FAILING)
def test_exactly_the_chosen_calls_of_a_channel_fail(project, fault):
    faulted, run, printed = fault_where(
        project, [server()], client("threads", 4, 50), lambda rpc: value_of(rpc) % 7 == 0, fault,
        index={"stack": False})
    assert run.exit_code == 1, run
    failed = failures(printed)
    assert len(faulted) == 200 // 7 and set(failed) == set(range(7, 201, 7)), printed
    assert set(failed.values()) <= FAILING[fault], printed
    assert printed.startswith(f"good {200 - 200 // 7} wrong 0 ")


# Each fault with one of the clients.
@pairs.each("language, fault", [("cpp", "grpc:ABORTED@2"), ("python", "stream-reset@2"), ("cpp", "stream-reset:CANCEL@3")])
@pytest.mark.parametrize("language", CLIENTS)
@pytest.mark.parametrize("fault, count, negate", [
    ("grpc:ABORTED@2", "count 10", "negate 10"), ("stream-reset@2", "count 13", "negate 13"),
    ("stream-reset:CANCEL@3", "count 1", "negate 1")])
def test_a_stream_of_messages_fails_after_the_kth(project, language, fault, count, negate):
    run, seen = explore_streams(project, fault, language)
    assert seen[0] == KINDS
    changed = {line.split(" [")[0] for printed in seen[1:] for line in printed.splitlines()} - \
        {line.split(" [")[0] for line in KINDS.splitlines()}
    assert changed == {count, negate}, seen
    if language == "cpp":
        passed = "1,2," if fault.endswith("2") else "1,2,3,"
        assert any(line.startswith(count) and line.endswith("] " + passed)
                   for printed in seen for line in printed.splitlines()), seen


def explore_streams(project, fault, language):
    """Faults at the two kinds of calls whose answers have several messages."""
    return explore(project, [server()], client("kinds", language=language), [], faults=[
        {"on": {"caller": "test", "grpc": f"calls.Calls/{method}"}, "inject": fault}
        for method in ("Count", "Negate")])


# The client that starts sooner.
@pairs.only("language", ["cpp"])
@pytest.mark.parametrize("language", CLIENTS)
def test_a_latency_changes_nothing_but_the_time(project, language):
    run, seen = explore(project, [server()], client("kinds", language=language), ["latency:300ms"])
    assert len(seen) == 6 and set(seen) == {KINDS}, seen


def test_a_latency_beyond_the_deadline_is_one(project):
    run, seen = explore(project, [server()], client("silent"), ["latency:2s"])
    assert [statuses(printed) for printed in seen].count([4, 0]) == 1, seen


def test_a_goaway_makes_the_client_try_again_elsewhere(project):
    run, seen = explore(project, [server()], client("kinds"), ["goaway"])
    assert seen.count(KINDS) >= 6, seen
    # Where the attempt after it ends so, too, the call fails, and no other.
    for failed in set(seen) - {KINDS}:
        changed = [line for line, usual in zip(failed.splitlines(), KINDS.splitlines(), strict=True) if line != usual]
        assert len(changed) == 1 and "14 [GOAWAY received]" in changed[0], seen


def test_a_message_that_cannot_be_parsed_is_an_internal_error_in_python(project):
    run, seen = explore(project, [server()], client("kinds", language="python"), [], faults=[
        {"on": {"caller": "test", "grpc": "calls.Calls/Count"}, "inject": "corrupt-message"}])
    assert [statuses(printed)[3] for printed in seen] == [0, INTERNAL], seen


def test_empty_messages_are_read_as_messages_of_defaults(project):
    run, seen = explore(project, [server()], client("kinds"), [], faults=[
        {"on": {"caller": "test", "grpc": "calls.Calls/Count"}, "inject": "empty-message"}])
    assert "count 0 [] 0,0,0,0," in seen[1], seen


def test_what_a_call_cannot_have_is_said_and_not_counted_as_tested(project):
    test = {"name": "client", "command": client("kinds")}
    project.write("filibuster.json", config([server()], [test], **{
        "bounds": {"reference_executions": 1, "max_faults": 1}, "default_faults": False,
        "faults": [{"on": {"caller": "test", "grpc": "calls.Calls/Count"}, "inject": "grpc:ABORTED@9"}],
        "index": {"stack": False}}))
    run = project.filibuster("run")
    assert "the answer ended after 4 messages" in run.output, run
    assert run.exit_code == 3 and "1 WITHOUT A CONCLUSION" in run.output, run
    assert ["name an earlier message" in group["advice"] for group in run.test["unexplained"]] == [True], run
