"""`filibuster trace` shows what indexes are made of, and leaves parts out one by one and together."""
import itertools
import re

import pytest

from small_apps import config, pair, probe, relay, url

PARTS = ["payload", "stack", "count", "path"]


def trace(project, *options, made=None):
    project.write("filibuster.json", made or pair())
    return project.filibuster("trace", *options)


def reference(project, *options):
    """The RPCs as the report of a run has them, without faults."""
    project.write("filibuster.json", pair(default_faults=False))
    return project.filibuster("run", *options).test["reference"]


def test_debugging_shows_every_part_in_clear(project):
    in_python = config([relay("back", python=True), relay("front", "back", python=True)], [probe(url("front"), python=True)])
    run = trace(project, "--representation", "debugging", made=in_python)
    assert run.exit_code == 0, run
    lines = [line for line in run.output.splitlines() if line.startswith("[[")]
    assert len(lines) == 2, run
    outer, inner = lines
    assert re.fullmatch(r"\[\[[^;]*; test; front\|GET /\|; .*probe\.py:\d+.*; [0-9a-f]{32}\]\|1\]", outer), outer
    assert inner.startswith(outer[:-1] + " :: ["), "the path comes first"
    assert re.search(r":: \[by (thread|task)[^;]*; front; back\|GET /\|; .*relay\.py:\d+.*; [0-9a-f]{32}\]\|1\]$", inner), inner


def test_verbose_has_the_hash_of_each_part(project):
    lines = [line for line in trace(project, "--representation", "verbose").output.splitlines() if line.startswith("[[")]
    part = r"[0-9a-f]{40}"
    element = rf"\[{part}; {part}; {part}; {part}; {part}\]\|1"
    assert re.fullmatch(rf"\[{element}\]", lines[0]) and re.fullmatch(rf"\[{element} :: {element}\]", lines[1]), lines


def test_tags_stand_in_the_report(project):
    front, back = reference(project)
    assert "opens a connection" in back["tags"] and front["tags"] != back["tags"]


def test_an_unknown_representation_is_a_usage_error(project):
    assert trace(project, "--representation", "short").exit_code == 2


def test_the_synchronous_signature_is_the_one_without_payload(project):
    def indexes(*options):
        return [rpc["index"] for rpc in reference(project, *options)]

    assert indexes("--signature", "synchronous") == indexes("--index-without", "payload")
    assert indexes("--signature", "asynchronous") == indexes() != indexes("--signature", "synchronous")


@pytest.mark.parametrize("size", [1, 2, 4])
def test_parts_are_left_out_one_by_one_and_together(project, size):
    for without in itertools.islice(itertools.combinations(PARTS, size), 2):
        options = [word for part in without for word in ("--index-without", part)]
        run = trace(project, "--representation", "debugging", *options)
        assert run.exit_code == 0, run
        last = [line for line in run.output.splitlines() if line.startswith("[[")][-1]
        assert (" :: " in last) == ("path" not in without), last
        *_, stack, payload = re.search(r"\[([^\[\]]*)\]\|\d+\]$", last)[1].split("; ")
        assert (stack == "") == ("stack" in without) and (payload == "") == ("payload" in without), last
        assert last.endswith("|0]") == ("count" in without), last
