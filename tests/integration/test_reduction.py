"""What the reduction leaves out, and what it must not: an answer is its status and its body."""
import json
import signal

import pytest

from small_apps import config, held, probe, relay, url

FAULTS = {"faults": [{"inject": ["status:500"]}], "default_faults": False}


def reading(project, **members):
    """front -> a -> b. Where b fails a answers 500 and says so in JSON, which front reads."""
    services = [relay("b"), relay("a", "b", options="--on-failure answer500"), relay("front", "a", options="--reads-failures")]
    project.write("filibuster.json", config(services, [probe(url("front"), expected="200,503")], **(FAULTS | members)))


def faulted(fault_sets):
    return sorted(fault["caller"] + " -> " + fault["service"] for faults in fault_sets for fault in faults)


@pytest.mark.parametrize("members", [{}, {"reduce": "sound"}, {"reduce": True}])
def test_a_bug_that_one_fault_shows_is_found_where_a_failure_of_the_application_has_the_same_status(project, members):
    reading(project, **members)
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.executed == 1 + 2 and run.test["counts"]["redundant"] == 0, run
    (finding,) = run.test["findings"]
    assert faulted([finding["faults"]]) == ["front -> a"] and finding["reproduced"], run
    assert run.test["pruned_unlike"] == [], run


@pytest.mark.parametrize("options, members", [(["--reduce", "published"], {}), ([], {"reduce": "published"})])
def test_by_status_alone_it_is_left_out_and_listed(project, options, members):
    reading(project, **members)
    run = project.filibuster("run", *options)
    assert run.exit_code == 0 and run.executed == 1 + 1 and run.test["counts"]["redundant"] == 1, run
    (pruned,) = run.test["pruned_unlike"]
    assert pruned["executions"] == 1 and pruned["rpc"] == "front -> a GET /", run
    assert faulted([pruned["faults"]]) == ["front -> a"] and faulted([pruned["like"]]) == ["a -> b"], run
    assert "1 fault was not executed in some places" in run.output and "--reduce sound" in run.output, run


def test_a_list_of_what_was_left_out_survives_an_interruption(project):
    """`c` is called first, so that its faults come last: the one of `a` is left out long before the end."""
    services = [relay("b"), relay("a", "b", options="--on-failure answer500"), relay("c"),
                relay("front", "c", "a", options="--tolerate 1")]
    test = held(probe(url("front"), expected="200,503"), 5)  # two references; b, c
    project.write("filibuster.json", config(services, [test], reduce="published", **FAULTS))
    (project.directory / "hold").touch()
    process = project.start("run", "--json")
    events = (json.loads(line) for line in process.stdout)
    assert any(event["type"] == "execution" and event["executed"] == 2 for event in events)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 3
    (project.directory / "hold").unlink()
    run = project.filibuster("run")
    assert "continuing" in run.errors and run.executed == 1 + 3, run
    (pruned,) = run.test["pruned_unlike"]
    assert pruned["executions"] == 2 and faulted([pruned["faults"]]) == ["front -> a"], run


@pytest.mark.parametrize("options", [["--reduce", "off"], ["--no-reduction"]])
def test_switched_off_everything_is_executed(project, options):
    reading(project)
    run = project.filibuster("run", *options)
    assert run.exit_code == 1 and run.executed == 1 + 2, run
    assert "reduction (ESR) was off" in run.test["notes"], run


def test_a_combination_is_executed_where_what_a_failure_says_is_new(project):
    """front -> c, then a -> b, whatever fails. By itself a says that one of its calls failed, and nothing when it is
    made to fail."""
    services = [relay("b"), relay("a", "b", options="--on-failure answer500"), relay("c"),
                relay("front", "c", "a", options="--tolerate 2")]
    project.write("filibuster.json", config(services, [probe(url("front"))], **FAULTS))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 1 + 3 + 2 and run.test["counts"]["redundant"] == 0, run


def test_two_failures_of_a_that_say_the_same_are_one(project):
    """Two calls of a below: either failure makes a say {"failed": 1}."""
    services = [relay("b"), relay("d"), relay("a", "b", "d", options="--on-failure answer500"), relay("c"),
                relay("front", "c", "a", options="--tolerate 2")]
    project.write("filibuster.json", config(services, [probe(url("front"))], **FAULTS))
    run = project.filibuster("run")
    # Alone: c, b, d, a. a's calls: {b, d}, too. With c: a says that one failed, that two did, or nothing; {c, b} or
    # {c, d} is left out.
    assert run.exit_code == 0 and run.executed == 1 + 4 + 1 + 3 and run.test["counts"]["redundant"] == 1, run
    assert run.test["pruned_unlike"] == [], run


def test_what_varies_in_failures_makes_each_another_one_unless_it_is_masked(project):
    """As above, but a says when it failed."""
    services = [relay("b"), relay("d"), relay("a", "b", "d", options="--on-failure answer500 --dated"), relay("c"),
                relay("front", "c", "a", options="--tolerate 2")]
    masks = {"nondeterminism": [{"on": {"service": "a"}, "mask": {"response": ["/when"]}}]}
    for members, left_out in ({}, 0), (masks, 1):
        project.write("filibuster.json", config(services, [probe(url("front"))], **FAULTS, **members))
        run = project.filibuster("run")
        assert run.exit_code == 0 and run.test["counts"]["redundant"] == left_out, run


def test_a_mode_that_there_is_not_is_refused_with_those_that_there_are(project):
    reading(project)
    run = project.filibuster("run", "--reduce", "some")
    assert run.exit_code == 2 and "--reduce some: expected 'sound', 'published' or 'off'" in run.errors + run.output, run
    run = project.filibuster("run", "--reduce", "sound", "--no-reduction")
    assert run.exit_code == 2, run


STATUS_READER = """
import http.client, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def has_answered(name, reads):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT_" + name]), timeout=2)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        if reads:
            answer.read()
        return answer.status == 200
    except OSError:
        return False
    finally:
        connection.close()

class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *arguments):
        pass
    def do_GET(self):
        a, b = has_answered("A", False), has_answered("B", True)
        self.send_response(200 if a or b else 500)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
"""

# Its body comes in a segment of its own, after the client has read the head and closed.
SLOW_BODY = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), reuse_port=False)
while True:
    client, _ = listener.accept()
    if client.recv(4096):
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\n")
        client.recv(1)
    client.close()
"""


def test_an_answer_of_which_only_the_head_is_read_is_no_silence(project):
    """front asks a, whose status alone it reads, then b; it fails where both are silent."""
    project.write("front.py", STATUS_READER)
    project.write("slow.py", SLOW_BODY)
    services = [{"name": "a", "command": "exec /usr/bin/python3 slow.py ${port:a}"}, relay("b"),
                {"name": "front", "command": "exec /usr/bin/python3 front.py ${port:front}"}]
    project.write("filibuster.json", config(services, [probe(url("front"), expected="200")],
                                            faults=[{"inject": ["timeout"]}], default_faults=False))
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.executed == 1 + 3, run
    (finding,) = run.test["findings"]
    assert faulted([finding["faults"]]) == ["front -> a", "front -> b"], run
