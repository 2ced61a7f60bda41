"""`filibuster property`: each seeded bug of the job queue is found and shrunk to its fault and a write, the repaired service is silent, and
what is wrong with a model, a client or a reset is said."""
import json
import re

import jsonschema
import pytest

import pairs
from conftest import CORPUS, PYTHON, REPOSITORY
from small_apps import config, relay
from terminals import on_a_terminal

SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/schema/property.schema.json").read_text()))
CONFIGURATIONS = {"python": "filibuster.json", "cpp": "cpp.json"}
DEQUEUE_FAILS = {"reset", "reset:after"}
# The fault to which a bug is shrunk, and how the last item ends. A write waits for its worker two seconds, not thirty.
BUGS = {"full": ({"status:507"}, "info:write"), "dead-worker": (DEQUEUE_FAILS, "info:write"), "impatient": ({"latency:200ms"}, "info:write")}


def run(project, application, *options, **environment):
    return project.filibuster("property", "-c", application, *options, env=environment)


def result(outcome):
    document = json.loads((outcome.root / "property.json").read_text())
    SCHEMA.validate(document)
    assert document["exit_code"] == outcome.exit_code, outcome
    (test,) = document["tests"]
    return test


# The worker of the program in C++ takes the program with it. What is impatient fails without any fault, too, where a machine is busy for a
# tenth of a second: so it is when all tests run.
@pairs.only("bug, language", [("full", "python"), ("dead-worker", "python"), ("dead-worker", "cpp")])
@pytest.mark.parametrize("language", CONFIGURATIONS)
@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_shrunk_to_its_fault_and_a_write(project, bug, language):
    patience = {} if bug == "impatient" else {"WORKER_TIMEOUT": "2"}
    outcome = run(project, CORPUS / "job-queue" / CONFIGURATIONS[language], "--seed", "1", BUG=bug, **patience)
    faults, kind = BUGS[bug]
    test = result(outcome)
    (finding,) = test["findings"]
    died = bug == "dead-worker" and language == "cpp"
    assert outcome.exit_code == 1 and finding["kind"] == ("died:web" if died else kind), outcome
    assert finding["finished"] and finding["replays"] == finding["replays_alike"] == 3, outcome
    fault, *rest = finding["program"]
    assert fault["fault"] in faults and fault["service"] == "queue", outcome
    # The worker polls by itself: its process dies without a write.
    assert [item["do"] for item in rest] == ["write"] or (died and not rest), outcome
    if rest:
        assert rest[0]["value"] == "" and finding["shrunk"]["items"][-1]["outcome"] in ("info", "ok"), outcome
    if died:
        assert "ended by SIGABRT" in finding["text"], outcome
    assert f"\u2717 {finding['text']}" in outcome.output and "replayed 3 times, each time the same" in outcome.output, outcome


@pytest.mark.parametrize("language", CONFIGURATIONS)
def test_the_repaired_service_is_silent(project, language):
    outcome = run(project, CORPUS / "job-queue" / CONFIGURATIONS[language], "--seed", "1", "--tests", "25")
    test = result(outcome)
    assert outcome.exit_code == 0 and test["executed"] == 25 and test["finished"] and not test["findings"], outcome
    fired = " ".join(test["fired"])
    for fault in ("status:507", "status:204", "reset at", "reset:after", "latency:200ms"):
        assert fault in fired, outcome
    assert test["commands"]["write ok"] > 0 and test["commands"]["read ok"] > 0 and test["commands"]["write fail"] > 0, outcome
    assert test["labels"]["read"] > 0, outcome


def test_the_same_seed_makes_the_same_programs(project):
    runs = [result(run(project, CORPUS / "job-queue/filibuster.json", "--seed", "7", "--tests", "4")) for _ in range(2)]
    assert sum(runs[0]["commands"].values()) == sum(runs[1]["commands"].values()) > 0
    assert runs[0]["faults"] == runs[1]["faults"] and len(runs[0]["faults"]) >= 5


def test_a_stale_read_is_found_by_the_fault_that_lets_its_write_happen(project):
    outcome = run(project, CORPUS / "replicas" / "filibuster.json", "--seed", "9", BUG="roll-back")
    (finding,) = result(outcome)["findings"]
    fault, write, read = finding["program"]
    assert (fault["fault"], write["do"], read["do"], finding["kind"]) == ("reset:after", "put", "get", "answer:get"), outcome
    assert finding["replays_alike"] == 3, outcome


MODEL = """from filibuster_property import Model, command, run
class M(Model):
    reads = ["get"]
    def init(self): return 0
    def commands(self, state): return [command("get")]
    def step(self, state, f, value, answer): return state, {answer}
run(M())
"""
CLIENT = """import os, urllib.request
from filibuster_property import Client, run
class C(Client):
    resets = 0
    def get(self, value): {get}
    def reset(self): {reset}
run(C())
"""


def prepare(project, *, answer="'ok'", get="return urllib.request.urlopen(os.environ['FRONT']).read() and 'ok'", reset="pass", model=None, client=None, length=20):
    project.write("model.py", model or MODEL.format(answer=answer))
    project.write("client.py", client or CLIENT.format(get=get, reset=reset))
    test = {"name": "front", "env": {"FRONT": "http://127.0.0.1:${port:front}/", "PYTHONPATH": str(REPOSITORY / "cli/python")},
            "property": {"model": f"exec {PYTHON} model.py", "client": f"exec {PYTHON} client.py", "length": length}}
    project.write("filibuster.json", config([relay("front")], [test]))


def small(project, **how):
    prepare(project, **how)
    return project.filibuster("property", "--seed", "3", "--tests", "3")


@pytest.mark.parametrize("how, expected", [
    ({"client": "import sys; sys.exit('no client today')"}, "it ended before it answered (exit status 1)\nno client today"),
    ({"client": "print('hello', flush=True); input()"}, "with 'hello'; expected a JSON object in one line"),
    ({"model": "print('hello', flush=True); input()"}, "with 'hello'; expected a JSON object in one line"),
    ({"model": MODEL.format(answer="'ok'").replace('"get")', '"get", {"itn": [0, 9]})')},
     "the command 'get': '{\"itn\":[0,9]}': there is no generator 'itn'; did you mean 'int'?"),
    ({"reset": "raise RuntimeError('no reset today')"}, "no reset today"),
    ({"get": "return 'ok' if C.resets < 2 else 'worn out'", "reset": "C.resets += 1"}, "the application is not reset between programs"),
])
def test_what_is_wrong_with_a_program_is_said_and_no_verdict(project, how, expected):
    outcome = small(project, **how)
    assert outcome.exit_code == 3 and expected in outcome.errors + outcome.output, outcome


def test_an_answer_that_is_a_whole_page_is_cut_where_it_is_printed_and_not_where_it_is_stored(project):
    outcome = small(project, get="return '\u00e9' * 5000")
    (finding,) = result(outcome)["findings"]
    assert outcome.exit_code == 1 and finding["shrunk"]["items"][0]["answered"] == "\u00e9" * 5000, outcome
    assert finding["text"].endswith(', and the model says "ok"') and len(finding["text"]) > 5000, outcome
    counterexample = json.loads((outcome.root / "counterexamples/1.json").read_text())
    assert counterexample["detail"] == finding["text"], outcome
    # Two bytes each, and the quotes.
    assert "1. get \u2192 \"" + "\u00e9" * 149 + "\u2026 (10002 bytes)\n" in outcome.output, outcome
    assert len(outcome.output) < 2000 and 'the model says "ok"\n' in outcome.output, outcome


def test_an_answer_that_the_model_does_not_have_is_a_violation_without_any_fault(project):
    outcome = small(project, answer="'other'")
    (finding,) = result(outcome)["findings"]
    assert outcome.exit_code == 1 and finding["kind"] == "answer:get" and len(finding["program"]) == 1, outcome
    assert 'get was answered "ok", and the model says "other"' in outcome.output, outcome


def test_on_a_terminal_one_line_says_how_far_it_is(project):
    prepare(project)
    lines = on_a_terminal(project, "property", "--seed", "3", "--tests", "4", "--max-time", "1h")
    counts = [line for line in lines if line.startswith("front: ")]
    # The line is drawn again below each one that stays.
    assert list(dict.fromkeys(line.split(",")[0] for line in counts)) == [f"front: {number} of 4 programs" for number in range(1, 5)], lines
    assert all(re.fullmatch(r"front: \d of 4 programs, [\d.]+/s, (59 min \d+ s|1 h 0 min) left", line) for line in counts), lines
    # A violation is shrunk before the search goes on.
    prepare(project, get="return 'ok' if C.resets < 3 else 'worn out'", reset="C.resets += 1", length=2)
    lines = on_a_terminal(project, "property", "--seed", "3", "--tests", "2")
    assert any(re.fullmatch(r"front: 1 of 2 programs, shrinking \(\d+ items?, 0 tried\)", line) for line in lines), lines
    # Without a terminal there is no such line.
    outcome = project.filibuster("property", "--seed", "3", "--tests", "2")
    assert outcome.exit_code == 1 and "shrinking" not in outcome.errors + outcome.output and "of 2 programs" not in outcome.errors, outcome


def test_each_verb_runs_the_tests_of_its_kind(project):
    outcome = small(project)
    assert outcome.exit_code == 0, outcome
    outcome = project.filibuster("run")
    assert outcome.exit_code == 2 and "run the others by `filibuster property`" in outcome.errors, outcome
    project.write("filibuster.json", config([relay("front")], [{"name": "plain", "command": "true"}]))
    outcome = project.filibuster("property")
    assert outcome.exit_code == 2 and "there is no test with a model and a client ('property')" in outcome.errors, outcome
