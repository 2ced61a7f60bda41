"""The helper for models and clients in Python: what it answers to each question of the protocol, and to each mistake of whoever writes
a model."""
import ast
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from conftest import PYTHON, REPOSITORY

HELPER = REPOSITORY / "cli/python/filibuster_property.py"
THINGS = pathlib.Path(__file__).parent / "programs/things.py"


def line_of(text):
    (number,) = [number for number, line in enumerate(THINGS.read_text().splitlines(), 1) if text in line]
    return f"({THINGS}:{number})"


class Program:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            [PYTHON, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(HELPER.parent)})

    def ask(self, line=None, **question):
        self.process.stdin.write((json.dumps(question) if line is None else line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        """What it printed to the standard error. It must end by itself when there are no more questions, and say nothing more."""
        out, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and out == "", (out, said)
        return said


@pytest.fixture
def model():
    program = Program(THINGS, "model")
    yield program
    program.process.kill()


@pytest.fixture
def client():
    program = Program(THINGS, "client")
    yield program
    program.process.kill()


def step(model, f, **more):
    return model.ask(ask="step", state={"things": ["a"]}, f=f, **more)


def test_a_model_says_how_it_begins_and_what_may_come_next(model):
    assert model.ask(ask="init") == {"state": {"things": []}, "reads": ["look"]}
    assert model.ask(ask="commands", state={"things": []}) == {"commands": [
        {"f": "add", "value": {"text": {"max": 3}}, "weight": 2},
        {"f": "look", "value": {"result_of": "add"}, "weight": 1},
        {"f": "pair", "value": {"array": [{"int": [0, 9]}, {"one_of": ["a", None]}]}, "weight": 1},
        {"f": "put", "value": {"object": {"key": {"text": {"max": 8}}, "value": {"value": {"int": "eger"}}}}, "weight": 1},
        {"f": "clear", "value": None, "weight": 1}]}
    assert model.ask(ask="pre", state={}, f="look", value={"result": 3}) == {"holds": True}
    assert model.ask(ask="pre", state={}, f="look", value=3) == {"holds": False}


def test_a_model_steps(model):
    assert step(model, "add", value="é", answer=5) == {"state": {"things": ["a", "é"]}, "answer": 1}
    assert step(model, "look", value=0, answer="a") == {"state": {"things": ["a"]}}, "any answer will do"
    assert step(model, "look", value=0, answer="nothing") == {"impossible": "there are things"}
    assert step(model, "null") == {"state": {"things": ["a"]}, "answer": None}, "no answer and the answer null are two things"
    assert step(model, "echo", answer={"result": 4})["answer"] == {"result": 4}
    assert "answer" not in step(model, "echo"), "an answer that nobody saw is none that is expected"


def test_a_model_classifies(model):
    assert [model.ask(ask="classify", state=[], f=f) for f in ("one", "two", "three")] == [
        {"labels": ["label"]}, {"labels": ["a", "2"]}, {"labels": []}]


def test_each_mistake_of_a_model_is_named_with_its_line(model):
    stepped, listed = line_of("def step("), line_of("def commands(")
    assert step(model, "raise")["error"] == "KeyError: 'absent' " + line_of('state["absent"]')
    assert step(model, "alone")["error"] == "step() returned {'things': ['a']} for 'alone', and not a pair of a state and an answer " + stepped
    assert step(model, "number")["error"] == "the state after 'number' has the key 7, but an object of JSON has texts as keys " + stepped
    assert step(model, "bytes")["error"] == "the answer of 'bytes' holds b'bytes', which is not JSON: bytes are not, decode them " + stepped
    assert step(model, "nan")["error"] == "the answer of 'nan' holds nan, which JSON does not have " + stepped
    assert model.ask(ask="commands", state="none")["error"] == "commands() returned None, and not a list of command(...) " + listed


def test_a_wrong_question_is_answered_and_the_next_one_too(model):
    assert "is not JSON" in model.ask(line="{")["error"]
    assert model.ask(line="[1]")["error"] == "the question is no object: [1]"
    assert model.ask(ask="dance")["error"] == "a model is not asked 'dance'"
    assert model.ask(do="add")["error"] == "the question has no 'ask': {\"do\": \"add\"}"
    assert model.ask(ask="pre", f="add")["error"].startswith("the question has no 'state'")
    assert step(model, "null")["answer"] is None


def test_what_a_program_prints_goes_to_the_standard_error(model, client):
    model.ask(ask="init")
    client.ask(do="add", value="x")
    said = model.end()
    assert "a model prints" in said and "so does its child" in said
    assert "adds x" in client.end()


def test_a_client_tells_three_outcomes_apart(client):
    assert client.ask(do="add", value="x", process="0") == {"ok": ["x", ""]}, "and reads no question"
    assert client.ask(do="who", value=None, process="7") == {"ok": "7"}
    assert client.ask(do="refuse", value=1, process="0") == {"fail": "503"}
    assert client.ask(do="lose", value=1, process="0") == {"info": "500"}
    assert client.ask(do="crash", value=1, process="0") == {"info": "KeyError: 'absent' " + line_of('{}["absent"]')}
    assert "KeyError" in client.end(), "whoever looks for the reason finds the traceback"


def test_a_mistake_of_a_client_is_no_outcome(client):
    assert client.ask(do="fly", value=1)["error"] == "the client Thing has no method 'fly'"
    assert client.ask(do="_secret", value=1)["error"] == "the client Thing has no method '_secret'"
    assert client.ask(do="nothing", value=1)["error"] == "nothing() of the client must take a value " + line_of("def nothing(")
    assert client.ask(do="ask", value=1)["error"].startswith("the answer of 'ask' holds b'bytes', which is not JSON")


def test_a_reset_that_fails_is_no_outcome_either(client):
    assert client.ask(do="reset") == {"ok": None}
    assert client.ask(do="reset") == {"error": "filibuster_property.Fail: cannot " + line_of('Fail("cannot")')}
    assert client.ask(do="reset") == {"ok": None}


def test_the_example_of_its_text_is_a_model(tmp_path):
    first = ast.get_docstring(ast.parse(HELPER.read_text())).split("A client does")[0]
    (tmp_path / "model.py").write_text(textwrap.dedent(first[first.index("    from"):]))
    program = Program(tmp_path / "model.py")
    assert program.ask(ask="step", state=["a"], f="append", value="b", answer={"result": 0}) == {"state": ["a", "b"], "answer": 1}
    assert program.ask(ask="step", state=["a"], f="get", value=1, answer="b") == {"state": ["a"], "answer": None}
    program.end()


def test_it_is_one_file_for_python_3_7():
    tree = ast.parse(HELPER.read_text(), feature_version=(3, 7))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= sys.stdlib_module_names and not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
