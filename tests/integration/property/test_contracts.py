"""A dependency without a process that behaves as the model of its property-based test says: the model answers as the real one does, from the
beginning in each execution, and what it does not know is an error of the protocol."""
import json

import jsonschema
import pytest

from conftest import PYTHON, REPOSITORY
from property.test_ready_models import TESTED, configuration, request, run
from small_apps import config_check, relay, url

SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/filibuster.schema.json").read_text()))


def with_contract(test, stubs=None, **members):
    """An application whose only service has a contract in place of a process."""
    stubs = {"contract": "contract/filibuster.json", **(stubs or {})}
    return {"version": 1, "default_faults": False, "tests": [test], "services": [{"name": "front", "stubs": stubs}], **members}


def write(project, contract, document):
    SCHEMA.validate(contract)
    SCHEMA.validate(document)
    (project.directory / "contract").mkdir(exist_ok=True)
    project.write("contract/filibuster.json", json.dumps(contract, indent=1))
    project.write("filibuster.json", json.dumps(document, indent=1))


def curl(path, *options):
    return f"curl -sS -w ' %{{http_code}}\\n' {' '.join(options)} '{url('front', path)}'"


@pytest.mark.parametrize("name", TESTED)
def test_the_model_answers_as_its_client_reads_it(project, name):
    # The same client asks the model's requests and answers, read backwards, as it asks the service itself in test_ready_models.py.
    (test,) = configuration(name)["tests"]
    write(project, configuration(name), with_contract(test))
    outcome, test = run(project, with_contract(test), "--tests", "20")
    assert outcome.exit_code == 0 and test["executed"] == 20 and not test["findings"], outcome
    for command in TESTED[name][1]:
        assert test["commands"][f"{command} ok"] > 0, outcome


def test_each_execution_begins_with_the_first_state(project):
    put = curl("/kv/b%20c%2Fd%3F", "-X PUT", "-d", "'{\"value\": \"x\", \"by\": \"me\"}'")
    steps = f"{{ {curl('/kv/a')}; {put}; {curl('/kv/b%20c%2Fd%3F')}; }} >> seen; echo >> seen"
    test = {"name": "steps", "command": steps}
    answers = {"get": {"json": {"of": "front"}}, "put": {"status": 201, "json": {"done": True}}}
    write(project, configuration("kv"), with_contract(
        test, {"answers": answers}, fault_test_calls=True, faults=[{"on": {"service": "front"}, "inject": [500]}]))
    outcome = project.filibuster("run")
    seen = (project.directory / "seen").read_text().split("\n\n")
    assert outcome.exit_code == 0 and len(seen) > 4, outcome
    assert seen[0].splitlines() == [" 404", '{"done":true} 201', '{"of":"front","value":"x"} 200'], seen
    # The put got a fault, and is not done: so is the get behind it, as at first.
    assert [" 404", " 500", " 404"] in [each.splitlines() for each in seen], seen


def test_what_the_model_does_not_know_is_said(project):
    calls = "; ".join([curl("/nowhere"), curl("/kv/a", "-X PUT", "-d", "'{\"price\": 1}'")])
    write(project, configuration("kv"), with_contract({"name": "calls", "command": f"{{ {calls}; }} > seen"}))
    outcome = project.filibuster("run")
    known = "it has delete (DELETE /kv/${key}), get (GET /kv/${key}), put (PUT /kv/${key})"
    begin = "filibuster: the model of 'front' (contract/filibuster.json) has no command that is "
    seen = (project.directory / "seen").read_text()
    assert seen.splitlines() == [f"{begin}GET /nowhere; {known}", " 501", f"{begin}PUT /kv/a with this body; {known}", " 501"], seen
    assert f"{begin.removeprefix('filibuster: ')}GET /nowhere" in outcome.output + outcome.errors, outcome


def test_a_stub_of_a_test_comes_before_the_model(project):
    contract = configuration("kv")
    contract["tests"][0]["property"]["model"]["initial"] = {"b": "of the model"}
    principled = {"stubs": {"front": [{"method": "GET", "path": "/kv/a", "answer": {"json": {"value": "of the test"}}}]},
                  "execute": f"exec curl -sS -f {url('shop')}", "assert_stubs": [{"on": "GET /kv/a", "times": 1}]}
    document = with_contract({"name": "both", "principled": principled})
    document["services"].append(relay("shop", url("front", "/kv/a"), url("front", "/kv/b")))
    write(project, contract, document)
    outcome = project.filibuster("principled")
    assert outcome.exit_code == 0, outcome
    # Without either, the shop's call would have had no answer.
    del principled["stubs"]
    principled["assert_stubs"] = []
    write(project, contract, document)
    outcome = project.filibuster("principled")
    assert outcome.exit_code == 1, outcome


MODEL = """from filibuster_property import Impossible, Model, command, integer, run
class M(Model):
    reads = ["read"]
    def init(self): return {"times": 0}
    def commands(self, state): return [command("read"), command("write", {"object": {"by": integer(1, 9)}})]
    def step(self, state, f, value, answer):
        if f == "write" and value["by"] > 9:
            raise Impossible("nobody adds so much")
        return (state, state["times"]) if f == "read" else ({"times": state["times"] + value["by"]}, None)
run(M())
"""


def test_a_program_may_be_the_model(project):
    contract = configuration("register")
    (test,) = contract["tests"]
    (project.directory / "contract").mkdir()
    project.write("contract/model.py", MODEL)
    test["property"]["model"] = f"exec {PYTHON} model.py"
    test["env"] = {"PYTHONPATH": str(REPOSITORY / "cli/python"), "FRONT": url("front")}
    test["property"]["client"]["commands"] = {"read": request("GET", "/times", answer="/times"),
                                              "write": request("POST", "/times?by=${by}")}
    calls = "; ".join([curl("/times"), curl("/times?by=4&x=1", "-X POST"), curl("/times"), curl("/times?by=10", "-X POST")])
    write(project, contract, with_contract({"name": "calls", "command": f"{{ {calls}; }} > seen"}))
    outcome = project.filibuster("run")
    first, second, third, fourth, status = (project.directory / "seen").read_text().splitlines()
    assert (first, second, third) == ('{"times":0} 200', " 200", '{"times":4} 200'), outcome
    assert "does not say what 'write {\"by\":10}' is answered: nobody adds so much" in fourth, outcome
    assert status == " 501", outcome


@pytest.mark.parametrize("change, stubs, expected", [
    ({}, {"contract": "nowhere.json"}, "nowhere.json' cannot be read"),
    ({}, {"contract": "contract/filibuster.json", "test": "other"}, "has no test 'other' with a 'property'; it has 'kv'"),
    ({}, {"contract": "contract/filibuster.json", "answers": {"gte": {}}}, "'gte'"),
    ({}, {"contract": "contract/filibuster.json", "answers": {"get": {"code": "OK"}}}, "an answer of HTTP has"),
    ({"client": "exec true"}, {"contract": "contract/filibuster.json"}, "is a program: only one that is configured"),
    ({"model": {"object": "kv", "keys": []}}, {"contract": "contract/filibuster.json"}, "contract/filibuster.json:"),
])
def test_what_is_wrong_with_a_contract_is_said(project, change, stubs, expected):
    contract = configuration("kv")
    contract["tests"][0]["property"].update(change)
    document = {"version": 1, "services": [{"name": "front", "stubs": stubs}], "tests": [{"name": "none", "command": "true"}]}
    (project.directory / "contract").mkdir()
    project.write("contract/filibuster.json", json.dumps(contract, indent=1))
    project.write("filibuster.json", json.dumps(document, indent=1))
    checked = config_check(project)
    assert checked.returncode == 2 and expected in checked.stderr, checked


def test_a_request_that_does_not_say_the_value_is_no_contract(project):
    contract = configuration("kv")
    contract["tests"][0]["property"]["client"]["commands"]["put"]["body"] = {"value": 1}
    write(project, contract, with_contract({"name": "none", "command": "true"}))
    outcome = project.filibuster("run")
    assert outcome.exit_code == 3, outcome
    assert "'put' of 'client' has no opposite: neither its path nor its body has ${value}" in outcome.output + outcome.errors, outcome
