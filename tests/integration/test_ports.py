"""Requests and answers that carry the application's own automatic port (a callback URL): the ports of before are
taken again, and one that cannot be had is said."""
import json
import signal
import socket

import pytest

from conftest import CORPUS, PYTHON, free_port
from corpus import in_place
from processes import events
from small_apps import config, probe, relay, url


def callback(**options):
    """front tells back where it can be called."""
    to_back = url("back", "/?callback=" + url("front"))
    return config([relay("back", **options), relay("front", to_back, **options)],
                  [probe(url("front"))], faults=[{"inject": "503"}])


def ports(project):
    return json.loads((project.root / "ports.json").read_text())["lanes"]["0"]


def holds(port):
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", port))
    holder.listen()
    return holder


# That a session goes on with its ports is in the tests below; this one explores a whole application.
@pytest.mark.whole
def test_an_interrupted_exploration_comes_to_the_same_count(project):
    project.write("filibuster.json", in_place(CORPUS / "audible" / "filibuster.json") | {"reduce": "published"})
    process = project.start("run", "--json")
    for event in events(process):
        if event["type"] == "execution" and event["executed"] >= 9 and process.poll() is None:
            process.send_signal(signal.SIGINT)
            break
    list(events(process))
    assert process.wait(timeout=30) == 3
    began = ports(project)
    run = project.filibuster("run")
    assert run.exit_code == 0 and "continuing" in run.errors, run
    assert run.executed == 37, run  # corpus/audible/README.md
    assert ports(project) == began


def test_a_finding_is_replayed_with_its_ports_here_and_from_another_root(project):
    project.write("filibuster.json", callback())
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (file,) = run.counterexamples
    example = json.loads(file.read_text())
    assert example["ports"] == ports(project) and set(example["ports"]) == {"back", "front"}
    replay = project.filibuster("replay", file)
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay
    elsewhere = project.write("elsewhere/1.json", file.read_text())
    project.root = project.directory / "elsewhere" / ".filibuster"
    replay = project.filibuster("replay", elsewhere)
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_trace_and_a_run_anew_have_the_ports_of_before(project):
    project.write("filibuster.json", callback())
    assert project.filibuster("trace").exit_code == 0
    began = ports(project)
    for verb in ("run", "trace", "run"):
        result = project.filibuster(verb)
        assert "the port of" not in result.errors, result
        assert ports(project) == began
    # Indexes stay the same, as it should be without ports.
    assert len({project.filibuster("trace").output for _ in range(2)}) == 1


def test_a_port_that_is_taken_is_said_and_is_not_forgotten(project):
    project.write("filibuster.json", callback())
    run = project.filibuster("run")
    (file,) = run.counterexamples
    before = ports(project)
    note = "the port of 'front' is "
    with holds(before["front"]):
        # The call is found although what it says is another than then.
        replay = project.filibuster("replay", file)
        assert replay.exit_code == 1 and "the same calls were found in it" in replay.errors, replay
        old = json.loads(file.read_text())
        for fault in old["faults"]:
            del fault["identity"], fault["alike"]
        replay = project.filibuster("replay", "--trust", project.write("old.json", old))
        assert replay.exit_code == 3, replay
        assert note in replay.errors and f"and was {before['front']}, which is taken by pid" in replay.errors, replay
        assert "replay again when that port is free" in replay.errors, replay
        assert "Its ports are not those" in replay.output and "call has moved" not in replay.output, replay
        trace = project.filibuster("trace")
        assert trace.exit_code == 0 and note in trace.errors, trace
        assert ports(project) == before, "only a run takes others for good"
        again = project.filibuster("run")
        assert again.exit_code == 1 and note in again.errors, again
        assert any(note in text for text in again.test["notes"]), again.test["notes"]
        assert ports(project)["back"] == before["back"] and ports(project)["front"] != before["front"]
    # Its counterexample knows better than the root.
    replay = project.filibuster("replay", file)
    assert replay.exit_code == 1 and "the port of" not in replay.errors, replay


def test_a_server_that_cannot_have_its_port_while_connections_linger_gets_another(project):
    project.write("filibuster.json", callback(options="--lingers"))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    before = ports(project)
    again = project.filibuster("run")
    assert again.exit_code == 1, again
    assert "the port of 'front' is" in again.errors and "SO_REUSEADDR" in again.errors, again
    assert ports(project)["front"] != before["front"]


def test_two_services_with_one_port_are_named_and_no_stranger_is(project):
    """Each at an address of its own, as far as the configuration says; the first one listens at all of them."""
    port = free_port()
    everywhere = {"name": "a", "command": f"exec {PYTHON} -m http.server {port}", "ports": {"a": port}}
    project.write("filibuster.json", config([everywhere, relay("b", ports={"b": port}, host="127.0.0.2")], [probe(url("a"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and f"services 'a' and 'b' have the same port, {port}" in run.errors, run
    assert '"host"' in run.errors and "end that process" not in run.errors, run
