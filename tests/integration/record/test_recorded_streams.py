"""Calls of gRPC of every kind are recorded and replayed: messages one by one, in turns where client and server speak in turns, with the status
and the trailers of their ends; and a change is seen as what it is."""
import json
import pathlib

import pytest

from conftest import PYTHON
from record.test_record import cases
from record.test_record_and_verify import verify
from small_apps import config

STREAMS = pathlib.Path(__file__).parent / "programs/streams.py"


@pytest.fixture
def streams(project):
    configure(project)
    return project


def configure(project, bug=""):
    project.write("filibuster.json", config(
        [{"name": "pricing", "command": f"exec {PYTHON} {STREAMS} pricing ${{port:pricing}}"},
         {"name": "orders", "command": f"exec {PYTHON} {STREAMS} orders ${{port:orders}} 127.0.0.1:${{port:pricing}} {bug}"}],
        [{"name": "none", "command": "false"}]))


def record(project, *asked, options=()):
    # Nothing of what a shell would read is in it.
    return project.filibuster("record", "-c", "filibuster.json", "--service", "orders", "--out", "cases", *options, "--",
                              "sh", "-c", f"{PYTHON} {STREAMS} client 127.0.0.1:$PORT_ORDERS {' '.join(asked)}")


def by_method(project):
    return {case["request"]["target"].rsplit("/", 1)[1]: case for case in cases(project)}


def test_calls_of_every_kind_are_recorded_whole_and_pass(streams):
    run = record(streams, "Get=one", "Watch=day", "Sum=one,two,three", "Talk=a,bb,ccc", "Fail=nothing", "Both=x")
    assert run.exit_code == 0 and "partial" not in run.output, run
    found = by_method(streams)
    assert sorted(found) == ["Both", "Fail", "Get", "Sum", "Talk", "Watch"], run
    assert all(case["request"]["protocol"] == "http2" for case in found.values())
    assert [call["target"] for call in found["Both"]["calls"]] == ["/shop.Prices/Get", "/shop.Prices/Get"]
    assert len(found["Watch"]["calls"][0]["answer"]["messages"]) == 3
    assert len(found["Sum"]["calls"][0]["messages"]) == 3
    # Each answer came behind the message before it, and before its client ended the request.
    (talk,) = found["Talk"]["calls"]
    assert [[piece[0], piece[2]] for piece in talk["answer"]["pieces"]] == [[1, 1], [1, 2], [1, 3]], talk
    (fail,) = found["Fail"]["calls"]
    assert ["x-why", "no such word"] in fail["answer"].get("trailers", []) + fail["answer"]["headers"], fail
    verified, rows = verify(streams)
    assert verified.exit_code == 0 and len(rows["cases"]) == 6, verified
    assert all(row["served"] == row["recorded"] > 0 for row in rows["cases"]), rows


@pytest.mark.parametrize("bug, asked, kind, text", [
    ("input", "Get=one", "input", "/messages/0"),
    ("missing", "Sum=one,two", "input", "/messages/1 is missing"),
    ("answer", "Watch=day", "answer", "/messages/2 is missing"),
    ("status", "Fail=nothing", "answer", '"13", not "5"'),
    ("turn", "Talk=a,bb", "input", "/messages/0"),
], ids=lambda value: value.split("=")[0] if "=" in value else value)
def test_a_change_is_seen_as_what_it_is(streams, bug, asked, kind, text):
    assert record(streams, asked, options=("--no-admission",)).exit_code == 0
    configure(streams, bug)
    run, found = verify(streams)
    (row,) = found["cases"]
    assert run.exit_code == 1 and row["differences"][0]["kind"] == kind, (run, json.dumps(found))
    assert text in row["differences"][0]["text"], row
