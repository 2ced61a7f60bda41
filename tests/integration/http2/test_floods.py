"""What does not stop, in either direction, directly and through the daemon's relay: it arrives as it was sent, no process
keeps it, and what it breaks is said."""
import json
import os

import pytest

import pairs
from conftest import PYTHON, REPOSITORY
from small_apps import config

PEER = REPOSITORY / "tests" / "programs" / "http2" / "bad_peer.py"
# KiB, of floods of 4 to 16 MB. What is bounded is taken once: the states of 512 streams, a ring of events, the numbers of
# 65,536 open streams in the daemon.
MOST_GROWN = 3072
BROKEN = {"continuation": "more CONTINUATION frames than are followed", "invalid": "a frame of a stream on stream 0 (RFC 9113 6)",
          "bomb": "more header fields than are followed"}
FROM_CLIENTS = [("settings", 300_000), ("ping", 300_000), ("continuation", 60_000), ("streams", 400_000), ("data", 1_000),
                ("invalid", 200_000), ("bomb", 300_000)]
if os.environ.get("TORTURE"):  # each is a request that is followed and reported
    FROM_CLIENTS += [("resets", 40_000)]
FROM_SERVERS = [("settings", 300_000), ("ping", 300_000), ("answer-continuation", 60_000), ("push", 200_000),
                ("answer-data", 1_000), ("informational", 100_000), ("invalid", 200_000), ("answer-bomb", 300_000)]


def talk(project, serving, calling, **members):
    project.write("filibuster.json", config(
        [{"name": "bad", "command": f"exec {PYTHON} {PEER} serve ${{port:bad}} server.json {serving}"}],
        [{"name": "client", "command": f"{PYTHON} {PEER} {calling}"}],
        default_faults=False, bounds={"reference_executions": 1}, index={"stack": False}, **members))
    run = project.filibuster("run")
    told = [json.loads((project.directory / f"{name}.json").read_text()) for name in ("server", "client")]
    return run, *told


def notes(run):
    return [note for note in run.test["notes"] if "HTTP/2" in note]


def is_said(run, what):
    """By the agent of either end, where it breaks a rule; else nothing is."""
    broken = BROKEN.get(what.removeprefix("answer-"))
    return [broken in note for note in notes(run)] == [True] * 2 if broken else notes(run) == []


@pytest.mark.parametrize("what, many", FROM_CLIENTS)
def test_what_a_client_floods_with_arrives(project, what, many):
    run, server, client = talk(project, "", f"send ${{port:bad}} client.json {what} {many}")
    assert is_said(run, what), run
    assert server["received"] == client["sent"] and client["received"] == server["sent"]
    assert server["size"] > 4_000_000 and not client["lost"]
    assert max(server["grown"], client["grown"]) < MOST_GROWN, (server, client)
    assert server["fields"] == {"streams": 512, "data": 1, "resets": many}.get(what, 0)
    if what == "streams":  # beyond 512 that are open
        rows = run.test["dependencies_not_tested"]
        assert {row["reason"] for row in rows} == {"table-full"}, run
        # Of an execution that allowed no conclusion there are some besides.
        assert run.repeated or {row["times"] for row in rows} == {many - 512}, run
        assert all(row["times"] >= many - 512 for row in rows), run


@pytest.mark.parametrize("what, many", FROM_SERVERS)
def test_what_a_server_floods_with_arrives(project, what, many):
    run, server, client = talk(project, f"{what} {many}", "ask ${port:bad} client.json")
    assert is_said(run, what), run
    # The server's SETTINGS came before.
    assert client["size"] > 4_000_000 and not client["lost"]
    assert client["received"] == server["sent"]
    assert client["grown"] < MOST_GROWN, client
    assert [rpc["path"] for rpc in run.test["reference"]] == ["/bad"]


def relayed(project, serving, calling):
    """The connection is relayed, since its first request had a fault; of the daemon `grown` is told."""
    return talk(project, serving, f"faulted ${{port:bad}} client.json {project.root}/daemon.json {calling}",
                faults=[{"on": {"caller": "test", "path": "/faulted"}, "inject": "status:503"}])


def ends_or_goes_on(run, who, what, client):
    """What cannot be followed ends a connection that is relayed; that is said, and its execution has no conclusion."""
    broken = BROKEN.get(what.removeprefix("answer-"))
    if not broken or what == "bomb":  # the relay does not decode requests
        assert run.exit_code == 0 and run.executed == 2 and not client["lost"], run
        return True
    assert run.exit_code == 3 and run.executed == 1 and "WITHOUT A CONCLUSION" in run.output, run
    assert f"a relayed HTTP/2 connection was reset: the {who} sent {broken}" in notes(run), run
    assert "reset by peer" in client["lost"]
    return False


# Control frames, headers, streams and data stay with one row each; without a relay all rows stay, above.
@pairs.only("what", ["settings", "continuation", "streams", "data"])
@pytest.mark.parametrize("what, many", FROM_CLIENTS)
def test_what_a_client_floods_a_relayed_connection_with_arrives(project, what, many):
    run, server, client = relayed(project, "", f"{what} {many}")
    assert client["grown"] < MOST_GROWN, client
    # Header blocks are written anew.
    if ends_or_goes_on(run, "client", what, client) and what not in ("streams", "resets", "data", "bomb"):
        assert server["received"] == client["sent"]
    assert server["size"] < 10_000 if client["lost"] else server["size"] > 4_000_000, server


# Control frames, headers, streams and data stay with one row each, as above.
@pairs.only("what", ["settings", "answer-continuation", "push", "answer-data"])
@pytest.mark.parametrize("what, many", FROM_SERVERS)
def test_what_a_server_floods_a_relayed_connection_with_arrives(project, what, many):
    run, server, client = relayed(project, f"{what} {many} 3", "ask")
    assert client["grown"] < MOST_GROWN, client
    if ends_or_goes_on(run, "server", what, client):
        assert client["size"] > 4_000_000
        if what in ("settings", "ping"):  # header blocks are written anew
            assert client["received"] == server["sent"]
