"""`filibuster check`: verdicts, exit codes and messages, in each format, with built-in models and programs."""
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

import documents

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / os.environ.get("BUILD", "build")

STALE = [{"process": 0, "type": "invoke", "f": "write", "value": 3}, {"process": 0, "type": "ok", "f": "write", "value": 3},
         {"process": 1, "type": "invoke", "f": "write", "value": 4}, {"process": 1, "type": "ok", "f": "write", "value": 4},
         {"process": 2, "type": "invoke", "f": "read"}, {"process": 2, "type": "ok", "f": "read", "value": 3}]
REGISTER = """import json, sys
for line in sys.stdin:
    q = json.loads(line)
    if q["ask"] == "init":
        a = {"state": None, "reads": ["read"]}
    elif q["f"] == "read":
        a = {"state": q["state"], "answer": q["state"]}
    else:
        a = {"state": q["value"]}
    print(json.dumps(a), flush=True)
"""


@pytest.fixture
def check(tmp_path):
    def run(history, *arguments, name="history.jsonl"):
        if not isinstance(history, str):
            history = "".join(json.dumps(event) + "\n" for event in history)
        (tmp_path / name).write_text(history)
        return subprocess.run([BUILD / "bin/filibuster", "check", name, *arguments], cwd=tmp_path, text=True, capture_output=True, timeout=120)
    return run


def program(tmp_path, text):
    (tmp_path / "model.py").write_text(text)
    return f"{sys.executable} model.py"


def test_a_verdict_is_an_exit_code_and_names_the_call_that_cannot_be_placed(check):
    run = check(STALE, "--model", "register")
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout == ("history.jsonl: not linearisable (3 calls of 3 processes, register)\n"
                          "  line 5: process 2, read \u2192 3\n"
                          "  cannot be placed. The longest order that there is has 2 of 3 calls, and ends in the state 4:\n"
                          "    line 1: process 0, write 3 \u2192 3  (behind it: 3)\n"
                          "    line 3: process 1, write 4 \u2192 4  (behind it: 4)\n")
    run = check(STALE[:4] + [STALE[4], {**STALE[5], "value": 4}], "--model", "register")
    assert (run.returncode, run.stdout) == (0, "history.jsonl: linearisable (3 calls of 3 processes, register)\n")


def test_calls_that_did_nothing_are_counted_apart(check):
    failed = [{"process": 3, "type": "invoke", "f": "write", "value": 9}, {"process": 3, "type": "fail"},
              {"process": 4, "type": "invoke", "f": "read"}, {"process": 4, "type": "info"}]
    run = check(failed + STALE, "--model", "register")
    assert run.returncode == 1 and run.stdout.startswith(
        "history.jsonl: not linearisable (5 calls of 5 processes, register; left out: 2 that changed nothing)\n"), run.stdout
    assert "The longest order that there is has 2 of 3 calls" in run.stdout


def test_other_formats(check):
    edn = "[{:process 0, :type :invoke, :f :cas, :value [1 2]}\n {:process 0, :type :ok, :f :cas, :value [1 2]}]"
    assert check(edn, "--model", "cas-register").returncode == 1
    assert check(edn, "--model", "cas-register", "--initial", "1").returncode == 0
    log = "INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - :nemesis\t:info\t:start\tnil\nINFO  jepsen.util - 0\t:ok\t:read\t5\n"
    assert check(log, "--model", "register", "--initial", "5").returncode == 0


def test_the_json_is_that_of_its_schema(check):
    for arguments in (["register"], ["kv"], ["unique-ids"]):
        history = STALE if arguments == ["register"] else [{**event, "key": "a"} for event in STALE] if arguments == ["kv"] else \
            [{"process": 0, "type": "invoke", "f": "generate"}, {"process": 0, "type": "ok", "value": 1}] * 2
        run = check(history, "--model", *arguments, "--json")
        assert run.returncode == 1
        jsonschema.Draft7Validator(documents.strict(documents.load("history"))).validate(json.loads(run.stdout))
    event = jsonschema.Draft7Validator(documents.load("history-event"))
    for row in STALE:
        event.validate(row)


def test_a_program_says_what_the_object_does(check, tmp_path):
    model = program(tmp_path, REGISTER)
    run = check(STALE, "--model", model)
    assert run.returncode == 1 and "line 5: process 2, read \u2192 3\n  cannot be placed" in run.stdout
    assert check(STALE[:4], "--model", model).returncode == 0


@pytest.mark.parametrize("text, expected", [
    ("import sys; sys.exit('no model today')", "and it ended before it answered (exit status 1)\nno model today"),
    ("print('hello', flush=True); input()", "with 'hello'; expected a JSON object in one line"),
    ("print('{}', flush=True); input()", 'with {}; expected {"state": STATE}'),
    (REGISTER.replace('q["state"], "answer"', 'q["state"], "error": "it hurts", "answer"'), "and failed: it hurts"),
    (REGISTER.replace("for line", "n = 0\nfor line").replace('{"state": q["value"]}', '{"state": n}').replace("    q =", "    n += 1\n    q ="),
     "the model is not pure: it answered"),
])
def test_a_program_that_is_no_model_is_named_with_its_question(check, tmp_path, text, expected):
    run = check(STALE, "--model", program(tmp_path, text))
    assert run.returncode == 2 and run.stderr.startswith("filibuster: --model: the model") and expected in run.stderr, run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize("history, arguments, expected", [
    (STALE, ["regster"], "--model: there is no model 'regster'; did you mean 'register'?"),
    (STALE, ["queue"], "history.jsonl:1: 'write': expected enqueue or dequeue"),
    (STALE[:1] + STALE[:1], ["register"], "history.jsonl:2: process 0 begins 'write' while its 'write' of line 1 is open"),
    (STALE[1:], ["register"], "history.jsonl:1: process 0 has no open operation; expected an invoke before"),
    ("{\"process\": 0,\n", ["register"], "history.jsonl:1: expected JSON"),
    ("", ["register"], "history.jsonl:1: expected a history, found nothing"),
    (STALE, ["bank"], "--initial: expected the balances before the first call"),
    (STALE, ["register", "--initial", "{"], "--initial: expected JSON"),
    (STALE, ["unique-ids"], "history.jsonl:1: 'write': expected generate"),
    (STALE, ["register", "--max-time", "soon"], "--max-time: "),
    (STALE[:3] + [{"process": 1, "type": "ok", "valeu": 4}], ["register"], "history.jsonl:4: an event has no member 'valeu'; did you mean 'value'?"),
    ([{"process": 0, "type": "invoke", "f": "put", "value": 4}], ["kv"], "history.jsonl:1: put: expected 'key', which says whose value is meant"),
])
def test_what_is_wrong_is_named_with_its_line(check, history, arguments, expected):
    run = check(history, "--model", *arguments)
    assert (run.returncode, run.stdout) == (2, "") and run.stderr.startswith("filibuster: " + expected), run.stderr


def test_a_bound_gives_no_verdict(check):
    begun = [{"process": n, "type": "invoke", "f": "cas", "value": [n % 3, (n + 1) % 3]} for n in range(24)]
    history = begun + [{"process": n, "type": "ok"} for n in range(24)] + [{"process": 30, "type": "invoke", "f": "read"}, {"process": 30, "type": "ok", "value": 9}]
    run = check(history, "--model", "cas-register", "--initial", "0", "--max-memory", "1")
    assert run.returncode == 3 and run.stdout.startswith("history.jsonl: unknown, since the bound of memory was reached"), run.stdout
    run = check(history, "--model", "cas-register", "--initial", "0", "--max-time", "1ms")
    assert run.returncode == 3 and run.stdout.startswith("history.jsonl: unknown, since the time was over"), run.stdout


def test_a_check_in_one_pass_lists_what_is_wrong(check):
    history = [{"process": 0, "type": "invoke", "f": "generate"}, {"process": 0, "type": "ok", "value": 7}] * 2
    run = check(history, "--model", "unique-ids")
    assert (run.returncode, run.stdout) == (1, "history.jsonl: 1 problem (2 calls of 1 process, unique-ids)\n  lines 1, 3: the id 7 was given twice\n")


def test_the_example_of_the_documentation_is_a_model(check, tmp_path):
    text = (ROOT / "docs/check.md").read_text()
    model = text.split("```python\n", 1)[1].split("```", 1)[0]
    history = text.split("```json\n", 1)[1].split("```", 1)[0]
    assert check(history, "--model", program(tmp_path, model)).returncode == 0
    assert check(STALE, "--model", program(tmp_path, model)).returncode == 1
