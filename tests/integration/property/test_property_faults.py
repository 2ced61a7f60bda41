"""`filibuster property` where faults are hard to place or to repeat: paths that no call has again, what a program leaves behind for the next one, faults
that last, and faults that make others likelier."""
import json

import jsonschema

from conftest import PYTHON, REPOSITORY, TESTS

SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/filibuster.schema.json").read_text()))
CARTS = TESTS / "property/programs/carts.py"
READ = {"service": "store", "method": "GET"}
WRITE = {"service": "store", "method": "PUT"}


def run(project, faults, *options, weight=1, length=20, **environment):
    """(outcome, the test in property.json)"""
    service = {"ready": {"http": "/health"}, "env": {"STORE_PORT": "${port:store}"}}
    client = {"http": "http://127.0.0.1:${port:shop}", "reset": {"method": "POST", "path": "/reset"},
              "commands": {"read": {"method": "GET", "path": "/cart", "answer": "json"},
                           "write": {"method": "PUT", "path": "/cart", "body": "${value}"}}}
    document = {
        "version": 1,
        "services": [{"name": name, "command": f"exec {PYTHON} {CARTS} {name} ${{port:{name}}}", **service} for name in ("store", "shop")],
        "tests": [{"name": "cart", "property": {"model": {"object": "register", "initial": 0}, "client": client, "length": length,
                                                "fault_weight": weight, "faults": faults}}]}
    SCHEMA.validate(document)
    project.write("filibuster.json", json.dumps(document))
    outcome = project.filibuster("property", "--seed", "1", *options, env=environment)
    (test,) = json.loads((outcome.root / "property.json").read_text())["tests"]
    return outcome, test


def test_a_fault_at_paths_that_no_call_has_again_fires_at_any_path(project):
    faults = [{"on": {**WRITE, "path": "/carts/*"}, "inject": 503}]
    outcome, test = run(project, faults, "--tests", "10", weight=3)
    assert outcome.exit_code == 0 and not test["notes"], outcome
    # One edge, without a path, in place of one for each path of the two programs without faults.
    assert [fault["edge"] for fault in test["faults"]] == ["shop -> store PUT"], test["faults"]
    assert len(test["fired"]) > 3, "each program has a cart of its own"
    assert all(fired.startswith("status:503 at shop -> store PUT /carts/c") for fired in test["fired"]), test["fired"]

    outcome, test = run(project, faults, weight=3, BUG="lost")
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["kind"] == "answer:read" and finding["replays_alike"] == 3, outcome
    fault, write, read = finding["program"]
    assert (fault["fault"], fault["method"], fault["path"]) == ("status:503", "PUT", ""), finding
    assert (write["do"], read["do"]) == ("write", "read"), finding
    assert "status:503 at the next shop -> store PUT\n" in outcome.output, outcome


def test_what_does_not_happen_again_on_services_started_anew_is_shown_only_if_nothing_else_is(project):
    reads_fail = {"on": READ, "inject": 503}
    # Each smaller program has services of its own, so that short programs are quick to shrink.
    outcome, test = run(project, [reads_fail], "--tests", "30", length=3, BUG="left-over")
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["text"].startswith('read was answered "spoilt"'), outcome
    assert (finding["replays"], finding["replays_alike"]) == (3, 0) and finding["program"] == finding["first"], outcome
    assert test["executed"] > finding["number"], "the search has ended with it"
    assert "of 3 replays 0 failed in the same way" in outcome.output, outcome

    # From the first one on that is spoilt, a write fails in another way. It happens again.
    (project.directory / "spoilt").unlink()
    outcome, test = run(project, [reads_fail, {"on": WRITE, "inject": 503, "weight": 3}], weight=3, length=3, BUG="left-over")
    (finding,) = test["findings"]
    assert (project.directory / "spoilt").exists(), "no cart was spoilt before"
    assert outcome.exit_code == 1 and (finding["kind"], finding["replays_alike"]) == ("info:write", 3), outcome
    assert "spoilt" not in outcome.output, outcome


def test_a_fault_that_lasts_hits_each_call_of_so_many_items(project):
    # Where all items of a program count, some smaller ones are tried, each with services of its own: seconds.
    attempts = 5
    outcome, test = run(project, [{"name": "Down", "on": READ, "inject": 503, "lasts": 6}], weight=3, length=5, BUG="tired", ATTEMPTS=str(attempts))
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["text"].startswith('read was answered "tired"'), outcome
    # Three reads have to fail, and each asks again and again. So many items are a fault's, and not one more.
    lasts = [item["lasts"] for item in finding["program"] if "fault" in item]
    assert sum(lasts) == 3 and [item["do"] for item in finding["program"] if "do" in item] == ["read"] * 3, finding
    assert [len(item["injected"]) for item in finding["shrunk"]["items"] if "do" in item] == [attempts] * 3, finding
    assert f"1. Down at each shop -> store GET of the next {lasts[0]} item" in outcome.output, outcome


def test_a_fault_makes_others_likelier(project):
    often = {"name": "Often", "on": READ, "inject": "latency:1ms", "weight": 10_000}
    rare = {"name": "Rare", "on": READ, "inject": "latency:2ms"}

    def fired(often):
        _, test = run(project, [often, rare], "--tests", "10", weight=9)
        return [sum(count for text, count in test["fired"].items() if text.startswith(name)) for name in ("Often", "Rare")]

    times, rarely = fired(often)
    assert times > 10 and rarely <= 1
    times, rarely = fired({**often, "likelier": {"Rare": 1_000_000}})
    assert rarely > times / 4 > 1
