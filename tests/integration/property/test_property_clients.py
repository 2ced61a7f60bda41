"""`filibuster property` with several clients: a lost update is made to happen by a schedule, is the same in each replay, and the repaired
application is silent; and faults of the test's own list."""
import json
import os
import subprocess

import jsonschema
import pytest

import pairs
from conftest import CORPUS, FILIBUSTER, REPOSITORY
from small_apps import config_check

SCHEMAS = REPOSITORY / "docs/schema"
LEDGER = CORPUS / "ledger" / "filibuster.json"
JOB_QUEUE = CORPUS / "job-queue" / "filibuster.json"


def validated(path, schema):
    document = json.loads(path.read_text())
    jsonschema.Draft7Validator(json.loads((SCHEMAS / schema).read_text())).validate(document)
    return document


def result(outcome):
    document = validated(outcome.root / "property.json", "property.schema.json")
    assert document["exit_code"] == outcome.exit_code, outcome
    (test,) = document["tests"]
    return test


@pairs.only("bug", ["early-unlock"])
@pytest.mark.parametrize("bug", ["no-lock", "early-unlock"])
def test_a_lost_update_is_made_to_happen_and_happens_again(project, bug):
    outcome = project.filibuster("property", "-c", LEDGER, "--clients", "2", "--seed", "1", env={"BUG": bug})
    assert outcome.exit_code == 1, outcome
    (finding,) = result(outcome)["findings"]
    assert finding["kind"] == "order" and finding["replays"] == finding["replays_alike"] == 3, outcome
    # One of two transfers at the same time stops before a call, and a balance behind them is wrong.
    (hold,) = finding["holds"]
    transfers, looks = finding["program"][:2], finding["program"][2:]
    assert [item["do"] for item in transfers] == ["transfer", "transfer"] and transfers[1]["parallel"], finding
    assert looks and {item["do"] for item in looks} == {"balance"}, finding
    assert {hold["command"], hold["until"]} == {item["number"] for item in transfers}
    assert (hold["caller"], hold["service"]) == ("teller", "accounts")
    assert "stops before teller -> accounts" in outcome.output, outcome
    # Its history is one that the checker refuses as well.
    history = outcome.root / "history.jsonl"
    history.write_text(finding["shrunk"]["history"])
    checked = subprocess.run([FILIBUSTER, "check", history, "--model", f"/usr/bin/python3 {LEDGER.parent / 'model.py'}"], capture_output=True,
                             env={**os.environ, "PYTHONPATH": str(REPOSITORY / "cli/python")}, timeout=60)
    assert checked.returncode == 1, checked

    example = validated(outcome.root / "counterexamples/1.json", "counterexample.schema.json")
    assert finding["counterexample"].endswith("counterexamples/1.json") and example["property"]["holds"] == [hold]
    again = project.filibuster("replay", "1", env={"BUG": bug})
    assert again.exit_code == 1 and "\nreproduced\n" in again.output, again
    repaired = project.filibuster("replay", "1")
    assert repaired.exit_code == 0 and "not reproduced: the program passed" in repaired.output, repaired


def test_the_repaired_bank_is_silent_and_says_which_schedules_cannot_happen(project):
    outcome = project.filibuster("property", "-c", LEDGER, "--clients", "3", "--seed", "1", "--tests", "4", "--repetitions", "6")
    assert outcome.exit_code == 0, outcome
    test = result(outcome)
    assert test["executed"] == 4 and test["executions"] == 24 and test["undecided"] == 0
    # Transfers of one account exclude each other: one that stands still lets no other one end.
    assert test["schedules"]["impossible"] > 0 and "cannot (a command waits for one that stands still)" in outcome.output, outcome


def test_without_schedules_none_is_tried(project):
    outcome = project.filibuster("property", "-c", LEDGER, "--clients", "2", "--tests", "2", "--repetitions", "2", "--schedules", "0")
    assert outcome.exit_code == 0, outcome
    assert set(result(outcome)["schedules"].values()) == {0}


def with_faults(project, faults):
    """The job queue with faults of the test's own."""
    config = json.loads(JOB_QUEUE.read_text())
    config["tests"][0]["property"]["faults"] = faults
    for service in config["services"]:
        service["directory"] = str(JOB_QUEUE.parent)
    config["tests"][0]["directory"] = str(JOB_QUEUE.parent)
    path = project.directory / "filibuster.json"
    path.write_text(json.dumps(config))
    return path


def test_faults_of_the_test_have_names_and_may_last(project):
    config = with_faults(project, [
        {"name": "Slow", "on": {"service": "queue", "path": "/dequeue"}, "inject": "latency:1ms", "lasts": 5},
        {"name": "Full", "on": {"service": "queue", "path": "/enqueue"}, "inject": 507, "weight": 0}])
    outcome = project.filibuster("property", "-c", config, "--seed", "1", "--tests", "6")
    assert outcome.exit_code == 0, outcome
    test = result(outcome)
    assert {fault["name"] for fault in test["faults"]} == {"Slow", "Full"}
    # The poll comes each few milliseconds, so that one of these faults hits many calls; the other one is never chosen.
    assert list(test["fired"]) == ["Slow (latency:1ms) at web -> queue POST /dequeue"], test["fired"]
    assert test["fired"]["Slow (latency:1ms) at web -> queue POST /dequeue"] > 6


@pytest.mark.parametrize("faults, said", [
    ([{"on": {"path": "/x"}, "inject": 503}], "a fault of 'property' needs 'on' with a 'service'"),
    ([{"on": {"service": "queue"}, "inject": 503, "likelier": {"Slow": 2}}], "'likelier': there is no fault with the name 'Slow' here"),
    ([{"on": {"service": "queue"}}], "'inject'")])
def test_what_is_wrong_with_a_fault_is_said_with_its_place(project, faults, said):
    path = with_faults(project, faults)
    checked = config_check(project)
    assert checked.returncode == 2 and said in checked.stderr and f"{path.name}:1:" in checked.stderr, checked


def test_a_rule_that_names_no_service_is_named_with_the_nearest_one(project):
    path = with_faults(project, [])
    config = json.loads(path.read_text())
    del config["tests"][0]["property"]["faults"]
    config["faults"][0]["on"]["service"] = "qeue"
    path.write_text(json.dumps(config))
    outcome = project.filibuster("property", "-c", path, "--tests", "1")
    said = "names 'qeue', which is not a service of the configuration and was not seen in the reference execution; did you mean 'queue'?"
    assert outcome.exit_code == 0 and any(said in note for note in result(outcome)["notes"]) and said in outcome.output, outcome


@pytest.mark.parametrize("change, said", [
    (lambda own: own["program"][0].update(number="0"), "program[0].number: expected a number"),
    (lambda own: own["program"][1].update(number=own["program"][0]["number"]), "expected one that no other command has"),
    (lambda own: own["holds"].append(dict(own["holds"][0], until=99)), "holds: expected two commands of one block"),
    (lambda own: own.update(clients=1), "clients: expected one for each command of a block")])
def test_a_counterexample_that_is_none_is_refused(project, change, said):
    edge = {"caller": "teller", "service": "accounts", "method": "PUT", "path": "/balance/A"}
    own = {"kind": "order", "clients": 2, "info_ends": False,
           "program": [{"do": "balance", "value": "A", "number": 0}, {"do": "balance", "value": "B", "number": 1, "parallel": True}],
           "holds": [{"command": 0, **edge, "occurrence": 1, "until": 1}]}
    change(own)
    example = {"version": 1, "test": "transfers", "config_path": str(LEDGER), "directory": str(LEDGER.parent), "verdict": "failed", "detail": "",
               "index_parts": ["payload"], "nondeterminism": [], "descriptors": "", "ports": {}, "hang_limit_ms": 0, "faults": [], "output": "", "seen": [], "config_text": LEDGER.read_text(), "property": own}
    path = project.directory / ".filibuster/counterexamples/1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(example))
    outcome = project.filibuster("replay", path)
    assert outcome.exit_code == 2 and said in outcome.errors, outcome
