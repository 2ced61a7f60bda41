"""Dependencies without a process: what their stubs answer, and that calls to them are as they are to a real server."""
import re
import shutil

import pytest

from conftest import CORPUS, PYTHON
from corpus import in_place
from small_apps import config, config_check, probe, relay, url

BACK = {"name": "back", "stubs": [{"method": "GET", "path": "/", "answer": {"text": "from a stub"}}]}


def calls(run):
    """{index: who calls whom, and for what} of the calls that `trace` saw."""
    return dict(re.findall(r"^([0-9a-f]{32}) .*?(\w+ -> \w+  \S+)", run.output, re.M))


def test_indexes_and_executions_are_those_of_a_real_service(project):
    tests = [probe(url("front"), expected="200,502,503,504,500")]
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], tests))
    real = project.filibuster("trace")
    project.write("filibuster.json", config([BACK, relay("front", "back")], tests))
    virtual = project.filibuster("trace")
    assert len(calls(virtual)) == 2 and calls(virtual) == calls(real), (real, virtual)
    run = project.filibuster("run")
    faults = {case["name"] for case in run.test["cases"]}
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], tests))
    assert faults == {case["name"] for case in project.filibuster("run", "--restart-session").test["cases"]}, run
    assert run.test["finished"] and run.executed > 1, run


def test_a_fault_at_a_virtual_service_is_found_and_replayed(project):
    project.write("filibuster.json", config([BACK, relay("front", "back")], [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 1 and all(finding["reproduced"] for finding in run.test["findings"]), run
    assert {fault["service"] for finding in run.test["findings"] for fault in finding["faults"]} == {"back"}, run
    assert project.filibuster("replay", "1").exit_code == 1


def test_lanes_have_stubs_of_their_own(project):
    project.write("filibuster.json", config([BACK, relay("front", "back")], [probe(url("front"), expected="200,500,502,503,504")]))
    one = project.filibuster("run")
    two = project.filibuster("run", "--restart-session", "-j", "2")
    assert one.exit_code == two.exit_code == 0, (one, two)
    assert one.executed == two.executed, (one, two)


# What curl prints for each call, one after the other.
ASK = """
ask() { curl -sS -w ' %{http_code}\\n' "$@"; }
ask $URL/users/7; ask $URL/users/8; ask "$URL/users/8?full=1"
ask -d '{"id": 7, "more": {"a/b": 1}}' $URL/orders; ask -d '{"id": 7}' $URL/orders; ask -d '{"id": 9}' $URL/orders
ask $URL/turn; ask $URL/turn; ask $URL/turn
ask -X DELETE $URL/users/7
"""
USERS = {"name": "users", "stubs": [
    {"method": "GET", "path": "/users/*", "answer": {"text": "some user"}},
    {"method": "GET", "path": "/users/7", "answer": {"json": {"name": "Ada"}, "headers": {"X-Of": "7"}}},
    {"method": "GET", "path": "/users/8?full=1", "answer": {"text": "all of 8", "delay": "20ms"}},
    {"method": "POST", "path": "/orders", "fields": {"/id": 7}, "answer": {"status": 201, "text": "by id"}},
    {"method": "POST", "path": "/orders", "fields": {"/id": 7, "/more/a~1b": 1}, "answer": {"status": 201, "text": "by both"}},
    {"path": "/turn", "answer": [{"text": "first"}, {"status": 503, "text": "second"}]}]}
ANSWERS = ['{"name":"Ada"} 200', "some user 200", "all of 8 200", "by both 201", "by id 201",
           "filibuster: no stub of 'users' answers POST /orders; the nearest is stub 4 of 'users' (line 31) (/id: 9, not 7)", " 501",
           "first 200", "second 503", "second 503",
           "filibuster: no stub of 'users' answers DELETE /users/7; the nearest is stub 1 of 'users' (line 8) (method: DELETE, not GET)", " 501"]


@pytest.mark.parametrize("version", ["", "--http2-prior-knowledge"], ids=["HTTP/1.1", "HTTP/2"])
def test_the_most_specific_stub_answers(project, version):
    ask = ASK.replace("curl -sS", f"curl -sS {version}")
    project.write("filibuster.json", config([USERS], [{"name": "curl", "command": f"URL={url('users', '')}; {{ {ask} }} > said"}]))
    run = project.filibuster("trace")
    said = (project.directory / "said").read_text().splitlines()
    assert [re.sub(r"\(line \d+\)", "", line) for line in said] == [re.sub(r"\(line \d+\)", "", line) for line in ANSWERS], run
    # What no stub answers is in the report, with the nearest one.
    assert "no stub of 'users' answers POST /orders; the nearest is stub 4 of 'users'" in run.output + run.errors, run


def test_a_grpc_method_is_answered_by_its_descriptors(project):
    real = in_place(CORPUS / "purchase" / "filibuster.json")
    project.write("filibuster.json", real)
    before = project.filibuster("trace")
    stubs = [{"grpc": "shop.UserService/GetUser", "answer": {"message": {"user_id": "ann"}}}]
    virtual = {**real, "services": [{"name": "user", "stubs": stubs} if service["name"] == "user" else service for service in real["services"]]}
    project.write("filibuster.json", virtual)
    after = project.filibuster("trace")
    assert before.exit_code == after.exit_code == 0, (before, after)
    assert any("GetUser" in call for call in calls(before).values()) and calls(before) == calls(after), (before, after)


@pytest.mark.parametrize("stub, problem", [
    ({"grpc": "shop.UserService/GetUsers", "answer": {}}, "the descriptors have no gRPC method 'shop.UserService/GetUsers', did you mean 'shop.UserService/GetUser'?"),
    ({"grpc": "shop.UserService/GetUser", "answer": {"message": {"name": "x"}}}, "its answer is no shop.User"),
    ({"grpc": "shop.UserService/GetUser", "request": {"id": "x"}, "answer": {}}, "its request is no shop.GetUserRequest")])
def test_a_stub_that_the_descriptors_do_not_allow_is_an_error(project, stub, problem):
    real = in_place(CORPUS / "purchase" / "filibuster.json")
    project.write("filibuster.json", config([{"name": "user", "stubs": [stub]}], [probe("http://127.0.0.1:1/")], descriptors=real["descriptors"]))
    run = project.filibuster("run")
    assert run.exit_code == 2 and re.search(r"filibuster\.json:\d+:\d+: stub 1 of 'user' \(line ", run.errors) and problem in run.errors, run
    checked = config_check(project)
    assert checked.returncode == 2 and re.search(r"filibuster\.json:\d+:\d+: stub 1 of 'user' ", checked.stderr) and problem in checked.stderr, checked


REDIS = """
import redis, sys
r = redis.Redis(port=int(sys.argv[1]))
print(r.get("user:7"), r.get("user:8"), r.set("user:7", "x"), r.incr("visits"), r.lrange("all", 0, -1))
try:
    r.delete("user:7")
except redis.ResponseError as error:
    print(error)
"""


def test_redis_is_answered(project):
    if not shutil.which("redis-server"):
        pytest.skip("NOT CHECKED: redis is not installed")
    stubs = [{"method": "GET", "path": "user:*", "answer": {"reply": None}}, {"method": "get", "path": "user:7", "answer": {"reply": "Ada"}},
             {"method": "SET", "request": ["user:7", "x"], "answer": {"reply": {"status": "OK"}}}, {"method": "INCRBY", "answer": {"reply": 3}},
             {"method": "LRANGE", "answer": {"reply": ["a", "b"]}}]
    project.write("ask.py", REDIS)
    project.write("filibuster.json", config([{"name": "cache", "protocol": "redis", "stubs": stubs}],
                                            [{"name": "ask", "command": f"{PYTHON} ask.py ${{port:cache}} > said"}]))
    run = project.filibuster("trace")
    first, second = (project.directory / "said").read_text().splitlines()
    assert first == "b'Ada' None True 3 [b'a', b'b']", run
    assert "no stub of 'cache' answers DEL user:7" in second, run
