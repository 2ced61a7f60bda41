"""`filibuster property` without a line of the user's code: each model that comes with the tool, with a client of HTTP that is configured. A
bug of the service is found, and the repaired service is silent."""
import json

import jsonschema
import pytest

import pairs
from conftest import PYTHON, REPOSITORY, TESTS
from small_apps import config_check

SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/filibuster.schema.json").read_text()))
OBJECTS = TESTS / "property/programs/objects.py"
NOT_DONE = {"ok": False}


def request(method, path, **members):
    return {"method": method, "path": path, **members}


def reads(path, answer="json", **members):
    return request("GET", path, answer=answer, **members)


# The model, and its commands as requests.
TESTED = {
    "register": ({"object": "register", "initial": 0}, {"read": reads("/register"), "write": request("PUT", "/register", body="${value}")}),
    "cas-register": ({"object": "cas-register", "initial": 0, "values": {"int": [0, 3]}, "commands": {"read": 4, "write": 1, "cas": 3}}, {
        "read": reads("/register"), "write": request("PUT", "/register", body="${value}"),
        "cas": request("POST", "/register/cas", body={"old": "${old}", "new": "${new}"}, statuses={"409": NOT_DONE})}),
    "kv": ({"object": "kv", "keys": ["a", "b c/d?"], "values": {"text": {"max": 4}}, "commands": {"get": 4, "put": 4, "delete": 1}}, {
        "get": reads("/kv/${key}", "/value", statuses={"404": {"ok": None}}), "put": request("PUT", "/kv/${key}", body={"value": "${value}"}),
        "delete": request("DELETE", "/kv/${key}")}),
    "queue": ({"object": "queue", "values": {"int": [0, 3]}}, {
        "enqueue": request("POST", "/queue", text="${value}", headers={"Content-Type": "application/json"}),
        "dequeue": request("DELETE", "/queue", answer="/items/0", statuses={"204": {"ok": None}})}),
    "set": ({"object": "set", "values": {"int": [0, 3]}}, {
        "add": request("PUT", "/set/${value}"), "remove": request("DELETE", "/set/${value}"), "contains": reads("/set/${value}"),
        "read": reads("/set")}),
    "list": ({"object": "list"}, {"append": request("POST", "/log", body="${value}"), "read": reads("/log")}),
    "counter": ({"object": "counter"}, {"add_and_get": request("POST", "/count/${value}", answer="json"), "read": reads("/count")}),
    "bank": ({"object": "bank", "initial": {"a": 10, "b": 0}}, {
        "transfer": request("POST", "/bank", body={"from": "${from}", "to": "${to}", "amount": "${amount}"}, statuses={"422": NOT_DONE}),
        "read": reads("/bank")}),
}
# What tells that a write was done twice, or was never done, and where these are the same.
TWICE = {"queue": "answer:dequeue", "list": "answer:read", "counter": "answer:add_and_get", "bank": "answer:"}
LOST = {"register": "answer:read", "kv": "answer:get", "set": "answer:", "cas-register": "answer:"}


def configuration(name, faults=("reset", "reset:after", 502), **client):
    model, commands = TESTED[name]
    service = {"ready": {"http": "/health"}, "env": {"BACK_PORT": "${port:back}"}}
    return {
        "version": 1,
        "services": [{"name": each, "command": f"exec {PYTHON} {OBJECTS} {each} ${{port:{each}}}", **service} for each in ("back", "front")],
        "default_faults": False, "faults": [{"on": {"service": "back"}, "inject": list(faults)}],
        "tests": [{"name": name, "property": {"fault_weight": 3, "model": model, "client": {
            "http": "http://127.0.0.1:${port:front}", "reset": request("POST", "/reset"), "commands": commands, **client}}}]}


def run(project, document, *options, **environment):
    SCHEMA.validate(document)
    project.write("filibuster.json", json.dumps(document))
    outcome = project.filibuster("property", "--seed", "1", *options, env=environment)
    (test,) = json.loads((outcome.root / "property.json").read_text())["tests"]
    return outcome, test


@pytest.mark.parametrize("name", TESTED)
def test_a_service_without_a_bug_is_silent(project, name):
    outcome, test = run(project, configuration(name), "--tests", "10")
    assert outcome.exit_code == 0 and test["executed"] == 10 and not test["findings"], outcome
    for fault in ("reset at", "reset:after at", "status:502 at"):
        assert fault in " ".join(test["fired"]), outcome
    for command in TESTED[name][1]:
        assert test["commands"][f"{command} ok"] > 0, outcome


@pairs.only("name", ["kv", "bank"])
@pytest.mark.parametrize("bug, name, kind", [("twice", *row) for row in TWICE.items()] + [("lost", *row) for row in LOST.items()])
def test_a_bug_is_found_and_shrunk(project, bug, name, kind):
    outcome, test = run(project, configuration(name), BUG=bug)
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["kind"].startswith(kind), outcome
    assert finding["replays_alike"] == 3 and "the model says" in outcome.output, outcome
    faults = [item["fault"] for item in finding["program"] if "fault" in item]
    assert faults and len(finding["program"]) < len(finding["first"]), outcome
    if bug == "twice":
        assert "reset:after" in faults, outcome


def test_a_write_whose_outcome_nobody_knows_is_a_finding(project):
    outcome, test = run(project, configuration("kv"), BUG="unsure")
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["kind"] in ("info:put", "info:delete"), outcome
    assert "500: " in finding["text"], outcome


@pytest.mark.parametrize("client, expected", [
    ({"timeout": "2s", "reset": [request("POST", "/reset"), request("POST", "/nowhere")]}, r'could not reset the application: {"info":"500: {\"error\":'),
    ({"reset": request("POST", "/reset", statuses={"2xx": "fail"})}, 'could not reset the application: {"fail":"204"}'),
    ({"http": "http://127.0.0.1:1", "timeout": "1ms"}, 'could not reset the application: {"fail":"no connection"}'),
])
def test_a_reset_that_fails_is_no_verdict(project, client, expected):
    outcome, _ = run(project, configuration("register", **client))
    assert outcome.exit_code == 3 and expected in outcome.errors + outcome.output, outcome


def test_a_program_may_be_the_model_of_a_client_that_is_configured(project):
    document = configuration("register")
    project.write("model.py", """from filibuster_property import Model, command, integer, run
class M(Model):
    reads = ["read"]
    def init(self): return 0
    def commands(self, state): return [command("read"), command("write", integer(0, 9))]
    def step(self, state, f, value, answer): return (state, state) if f == "read" else (value, None)
run(M())
""")
    (test,) = document["tests"]
    test["property"]["model"] = f"exec {PYTHON} model.py"
    test["env"] = {"PYTHONPATH": str(REPOSITORY / "cli/python")}
    outcome, test = run(project, document, "--tests", "5")
    assert outcome.exit_code == 0 and test["executed"] == 5, outcome


def test_what_is_wrong_in_the_configuration_is_said_with_its_place(project):
    document = configuration("kv")
    (test,) = document["tests"]
    test["property"]["client"]["commands"]["get"]["path"] = "/kv/${kye}"
    project.write("filibuster.json", json.dumps(document, indent=1))
    checked = config_check(project)
    line = next(number for number, text in enumerate(json.dumps(document, indent=1).splitlines(), 1) if "kye" in text)
    assert checked.returncode == 2 and f"filibuster.json:{line}:" in checked.stderr, checked
    assert "'${kye}': 'get' has 'key' or 'process'" in checked.stderr, checked
