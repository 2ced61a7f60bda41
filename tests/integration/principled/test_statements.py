"""Which statement counts, those that contradict or were never true, calls that nothing is stated of, and wrong input."""
import json
import re
import socket
import threading
from xml.etree import ElementTree

import pytest

from shop import ASKS, COUNTS, FREE, HARD, ITEM, ITEMS, ON_503, SHOP, SOFT, USER, USERS, Told, kind_of, principled, said
from small_apps import config_check


def test_what_was_answered_is_told(principled):
    told = principled(ASKS.format(count=1, answer="200, '{\"left\": 9}' if failed else 'bought'"), users=[], assert_stubs=[{"on": ITEM, "times": 1}])
    assert told.only["kind"] == "injected-fault-unspecified", told
    assert 'it answered 200 "{"left": 9}"\nassert_test does not hold: exit status 1' in told.only["text"], told


def test_a_caller_that_has_no_timeout_is_named(principled):
    """The silence that ends by the hang limit is none that the service has answered."""
    source = SHOP.replace("def answer", """
import http.client, os
def call(name, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ[f"PORT_{name.upper()}"]))
    try:
        connection.request(method, path, json.dumps(body))
        return connection.getresponse().status, ""
    except OSError:
        return 0, ""
def answer""").replace("import http", "import json, http").replace("answer(call)", "answer(_)")
    told = principled(source, faults=["timeout"], failure=HARD + ON_503, members={"bounds": {"hang_limit": 1}})
    assert told.only["kind"] == "caller-has-no-timeout" and told.exit_code == 1, told
    assert "'shop' waits for an answer that does not come: caller has no timeout (hang limit 1.0 s reached)" in told.only["text"], told
    assert told.only["faults"][0]["call_site"].startswith("shop.py"), told


def test_a_service_that_calls_elsewhere_is_told_how_to_be_led(principled):
    told = principled('def answer(call):\n    print("no such host", flush=True)\n    return 502, "no price"')
    assert told.only["kind"] == "block-failed", told
    assert "'shop' has called no service of the configuration: lead its calls there by ${port:NAME} in its `env`, or by `hosts`" in told.only["text"], told
    assert "no such host" in told.only["trace"], told


def test_a_client_of_tls_gets_no_stub_to_write(principled):
    told = principled("def answer(_):\n    import os, urllib.request\n    urllib.request.urlopen('https://127.0.0.1:' + os.environ['PORT_USERS'])\n    return 200, ''")
    assert told.only["kind"] == "call-without-stub" and not told.remedies and '"tls": true in its row' in told.only["text"], told


# (e)
def test_blocks_run_once(principled, tmp_path):
    failure = [*HARD, {**ON_503[0], "assert": "echo $FILIBUSTER_EXECUTION $FILIBUSTER_BLOCK >> ran"},
               {"on": ITEM, "assert": "echo $FILIBUSTER_EXECUTION $FILIBUSTER_BLOCK >> ran"}]
    told = principled(failure=failure, assert_test="echo $FILIBUSTER_EXECUTION $FILIBUSTER_BLOCK >> ran")
    assert told.exit_code == 0, told
    assert (tmp_path / "ran").read_text().splitlines() == ["1 assert_test", "2 on_exception", "3 on_fault"], told
    assert [[block["block"] for block in execution["blocks"]][-2:] for execution in told.executions] == [["assert_stubs", "teardown"]] * 3, told


def test_commands_know_how_the_service_answered(principled, tmp_path):
    told = principled(failure=[*HARD, {**ON_503[0], "assert": "echo $FILIBUSTER_OUTCOME > outcome"}, *SOFT])
    assert told.exit_code == 0, told
    assert json.loads((tmp_path / "outcome").read_text()) == {"thrown": True, "code": "503", "message": "no user"}, told


# --- the test itself ---

def test_a_dependency_that_does_not_know_the_method(principled):
    told = principled(items=[{**ITEMS[0], "answer": {"status": 501}}], assert_test=said("bought later"))
    assert told.only["kind"] == "invoked-rpc-unimplemented", told


def test_a_contradiction_of_equal_keys(principled):
    told = principled(failure=[{"on": USER, "throws": 503}, {"on": {"method": "GET", "path": "/users/7"}, "no_impact": True}])
    assert told.only["kind"] == "specifications-contradict" and len(told.executions) == 1, told
    assert len(re.findall(r"filibuster\.json:\d+", told.only["text"])) == 2, told


def test_a_contradiction_of_two_blocks_for_a_code(principled):
    told = principled(failure=[*HARD, *ON_503, *ON_503])
    assert told.only["kind"] == "specifications-contradict" and "503" in told.only["text"], told


def test_a_contradiction_that_shows_under_a_fault(principled):
    source = SHOP.replace('{"user": 7}', '{"user": 7, "of": "Ada"}')
    rows = [{"on": {"path": "/reserve", "fields": {"/user": 7}}, "no_impact": True}, {"on": {"path": "/reserve", "fields": {"/of": "Ada"}}, "assert": "true"}]
    told = principled(source, failure=[*HARD, *ON_503, *rows])
    assert told.only["kind"] == "specifications-contradict" and len(told.executions) == 3, told


@pytest.mark.parametrize("blocks, text", [
    ({"stubs": {"users": USERS, "nobody": USERS}}, "nobody"),
    ({"stubs": {"shop": USERS}}, "shop"),
    ({"failure": [{"on": USER, "throws": "BROKEN"}]}, "expected a code of gRPC such as UNAVAILABLE"),
    ({"failure": [{"on": USER, "throws": 99}]}, "99"),
    ({"failure": [{"on": [USER, ITEM], "no_impact": True}]}, "it is said of one call"),
    ({"failure": [{"on": {"method": "GET", "path": "/users/7", "fault": "503"}, "propagates": True}]}, "it is said of a method"),
    ({"assert_stubs": [{"on": {"method": "GET", "path": "/users/7", "fault": "503"}, "times": 1}]}, "leave 'fault' out")], ids=str)
def test_a_statement_that_is_not_understood(principled, blocks, text):
    told = principled(**blocks)
    assert told.only["kind"] == "statement-not-understood" and text in told.only["text"], told
    assert re.fullmatch(r"filibuster\.json:\d+", told.only["at"]), told


def test_a_statement_that_was_true_of_no_execution(principled):
    told = principled(failure=[*HARD, *ON_503, *SOFT, {"on": "GET /user/7", "no_impact": True}, {"on_exception": 500, "assert": "true"}])
    assert told.exit_code == 1 and told.kinds == ["specification-never-matched"] * 2, told


def test_a_stub_that_was_never_called(principled):
    other = {"method": "GET", "path": "/other", "answer": {"text": "yes"}}
    rows = {"failure": HARD + ON_503 + SOFT, "assert_stubs": [*COUNTS, {"on": "GET /other", "times": 0}]}
    told = principled(items=[*ITEMS, other], **rows)
    assert told.exit_code == 1 and told.only["kind"] == "stub-never-called" and "stub 2 of 'items'" in told.only["text"], told
    told = principled(stubs={"items": [other]}, **rows)
    assert told.exit_code == 1 and told.only["kind"] == "stub-never-called", told


def test_a_fault_that_was_not_injected(principled):
    source = """
import os

def answer(call):
    if os.path.exists("was-here"):
        return 200, "bought"
    open("was-here", "w").close()
    call("users", "GET", "/users/7")
    return 200, "bought"
"""
    told = principled(source, items=[], assert_stubs=COUNTS[:1], failure=FREE[:1], setup="rm -f bought")
    assert told.only["kind"] == "planned-fault-not-injected" and len(told.executions) == 2, told


def test_a_call_that_leaves_the_lane(principled):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        source = SHOP.replace("def answer(call):\n", "def answer(call):\n    call('elsewhere', 'GET', '/')\n")
        told = principled(source, env={"PORT_ELSEWHERE": str(server.getsockname()[1])})
    assert told.only["kind"] == "call-left-the-lane", told


@pytest.mark.parametrize("blocks, text", [
    ({"execute": "true", "assert_test": "true"}, "the block 'execute' called no service of the configuration"),
    ({"source": "def answer(call):\n    return 200, 'bought'\n"}, "'shop' called no dependency")], ids=["execute", "service"])
def test_nothing_is_called(principled, blocks, text):
    told = principled(**blocks)
    assert told.only["kind"] == "nothing-called" and text in told.only["text"], told


CACHED = """
def answer(call):
    if call("cache", "GET", "user:7")[0] != 200:
        call("users", "GET", "/users/7")
    return 200, "bought"
"""


def cached(principled, key, stub, failure):
    cache = {"name": "cache", "protocol": "redis", "stubs": [{"method": "GET", "path": stub, "answer": {"reply": "Ada"}}]}
    return principled(CACHED, items=[], more=[cache], faults=["reset"], failure=failure,
                      assert_stubs=[{"on": key, "times": 1}, {"on": USER, "times": 0}])


def test_redis_is_a_dependency_as_others(principled):
    key = "GET user:*"
    told = cached(principled, key, key.removeprefix("GET "), [{"on": key, "assert": "true"}])
    assert told.only["kind"] == "assertions-did-not-hold-under-error-response" and "GET /users/7" in told.only["text"], told
    told = cached(principled, key, key.removeprefix("GET "),
                  [{"on": key, "assert": "true", "side_effecting": [{"on": USER, "times": 1}]},
                   {"on": [key, USER], "assert": "true", "read_only": [USER]}])
    assert told.exit_code == 0 and len(told.executions) == 3, told


def test_a_key_of_redis_is_named(principled):
    told = cached(principled, "GET user:7", "user:7",
                  [{"on": "GET user:7", "assert": "true", "side_effecting": [{"on": USER, "times": 1}]},
                   {"on": ["GET user:7", USER], "assert": "true", "read_only": [USER]}])
    assert told.exit_code == 0 and len(told.executions) == 3, told


def test_a_service_that_ends_under_a_fault(principled):
    source = """
import os

def answer(call):
    if call("users", "GET", "/users/7")[0] != 200:
        os._exit(3)
    return 200, "bought"
"""
    told = principled(source, items=[], assert_stubs=COUNTS[:1])
    assert told.only["kind"] == "block-failed" and "service 'shop'" in told.only["text"], told


def test_a_method_in_small_letters(principled):
    told = principled(users=[{**USERS[0], "method": "get"}], failure=[{**HARD[0], "on": "get /users/7"}, *ON_503, *SOFT])
    assert told.exit_code == 0, told


# --- how a test goes on and ends ---

def test_a_block_takes_no_longer_than_the_test_may(project):
    project.write("filibuster.json", {"version": 1, "services": [{"name": "users", "stubs": USERS}], "tests": [
        {"name": "buy", "timeout": "200ms", "principled": {"execute": "exec sleep 600"}}]})
    told = Told(project.filibuster("principled"))
    assert told.only["kind"] == "block-failed" and "it did not end within 200 ms" in told.only["text"], told


def test_it_goes_on_where_that_is_wanted(principled):
    told = principled(options=["--keep-going"])
    assert told.kinds == ["thrown-exception-unspecified", "injected-fault-unspecified"] and told.exit_code == 1, told


def test_a_fault_that_was_run_ahead_counts_once(principled):
    told = principled(faults=(503, 500, 502), options=["--keep-going"])
    names = [execution["name"] for execution in told.test["executions"]]
    assert len(names) == len(set(names)) == 7, told
    titles = [remedy["title"] for diagnostic in told.diagnostics for remedy in diagnostic["remedies"]]
    assert any("(all three faults that were tried end so)" in title for title in titles), told
    assert not any("all four" in title or "both" in title for title in titles), told


def test_a_bound_of_executions_ends_it(principled):
    told = principled(failure=HARD + ON_503 + SOFT, options=["--max-executions", "2"])
    assert told.kinds == [] and not told.test["finished"] and told.test["not_executed"] == 1, told
    assert told.exit_code == 4, told


def test_the_time_is_over_before_the_first_test_begins(principled, project):
    told = principled(failure=HARD + ON_503 + SOFT, options=["--max-time", "1ms", "--junit", "junit.xml"])
    assert told.exit_code == 4 and told.executions == [] and told.test["time_over"] and not told.test["finished"], told
    assert "test 'buy': not begun, since the time of --max-time was over" in told.run.output, told
    suite = ElementTree.parse(project.directory / "junit.xml").find("testsuite")
    assert suite.get("tests") == suite.get("skipped") == "1" and "not begun" in suite.find("testcase/skipped").get("message"), told


def test_the_time_is_over_before_an_execution_begins(principled, project):
    told = principled(failure=HARD + ON_503 + SOFT, setup="sleep 3", options=["--max-time", "3s", "--junit", "junit.xml"])
    assert told.exit_code == 4 and len(told.executions) == 1 and told.test["time_over"] and told.test["not_executed"] == 2, told
    assert "test 'buy': 1 execution, 2 known ones not begun, since the time of --max-time was over" in told.run.output, told
    assert len(ElementTree.parse(project.directory / "junit.xml").findall("testsuite/testcase")) == 2, told


def test_each_test_that_is_not_begun_is_named(project):
    tests = [{"name": name, "principled": {"execute": "true"}} for name in ("buy", "sell")]
    project.write("filibuster.json", {"version": 1, "services": [{"name": "users", "stubs": USERS}], "tests": tests})
    run = project.filibuster("principled", "--max-time", "1ms")
    assert run.exit_code == 4 and [f"test '{name}': not begun" in run.output for name in ("buy", "sell")] == [True, True], run


# --- wrong input ---

@pytest.mark.parametrize("blocks, text", [
    ({"stubs": {"users": [{"method": "GET", "path": "/x", "requst": 7, "answer": {"text": "x"}}]}}, "did you mean 'request'?"),
    ({"stubs": {"user": USERS}}, "the configuration has no service 'user'"),
    ({"stubs": {"users": USERS}}, "answer the same calls"),
    ({"failure": [{"on": USER, "throws": "UNAVAILABEL"}]}, "UNAVAILABEL"),
    ({"failure": [{"on_exception": "UNAVAILABEL", "assert": "true"}]}, "UNAVAILABEL"),
    ({"failure": [{"on": USER, "throws": 503}, {"on": USER, "no_impact": True}]}, "say different things of the same fault"),
    ({"failure": [{"on": USER, "assert": "true", "side_effecting": [{"on": ITEM, "times": -1}]}]}, "a count is the exact number of calls"),
    ({"assert_stubs": [{"on": USER, "times": "one"}]}, "a count is the exact number of calls")], ids=lambda each: json.dumps(each)[:60])
def test_config_check_reads_the_statements(project, blocks, text):
    services = [{"name": "users", "stubs": USERS}, {"name": "items", "stubs": ITEMS}]
    test = {"execute": "true", "assert_stubs": COUNTS, "failure": [*HARD, *ON_503, *SOFT]}
    project.write("filibuster.json", {"version": 1, "services": services, "tests": [{"name": "buy", "principled": test}]})
    assert config_check(project).returncode == 0
    project.write("filibuster.json", {"version": 1, "services": services, "tests": [{"name": "buy", "principled": {**test, **blocks}}]})
    checked = config_check(project)
    assert checked.returncode == 2 and text in checked.stderr and re.search(r"^filibuster\.json:\d+: ", checked.stderr, re.MULTILINE), checked


@pytest.mark.parametrize("test, text", [
    ({"failure": []}, "execute"),
    ({"execute": "true", "failures": []}, "did you mean 'failure'"),
    ({"execute": "true", "failure": {}}, "'failure'"),
    ({"execute": "true", "failure": [{"throws": 503}]}, "a row of 'failure' has either 'on' or 'on_exception'"),
    ({"execute": "true", "failure": [{"on": USER, "on_exception": 503, "assert": "true"}]}, "a row of 'failure' has either 'on' or 'on_exception'"),
    ({"execute": "true", "failure": [{"on": USER}]}, "a row of 'failure' says one thing"),
    ({"execute": "true", "failure": [{"on": USER, "throws": 503, "no_impact": True}]}, "a row of 'failure' says one thing"),
    ({"execute": "true", "failure": [{"on": USER, "no_impact": True, "message": "x"}]}, "'message' belongs to 'throws'"),
    ({"execute": "true", "failure": [{"on_exception": 503, "throws": 503}]}, "'on_exception' has 'assert', 'read_only' and 'side_effecting'"),
    ({"execute": "true", "failure": [{"on": [], "no_impact": True}]}, "'on': it names no call"),
    ({"execute": "true", "failure": [{"on": "users", "no_impact": True}]}, "'users': expected a method such as"),
    ({"execute": "true", "failure": [{"on": {"methods": "GET"}, "no_impact": True}]}, "'methods': expected a method such as"),
    ({"execute": "true", "failure": [{"on": {"grpc": "a.B/C", "path": "/x"}, "no_impact": True}]}, "a method of gRPC is named by 'grpc' alone"),
    ({"execute": "true", "failure": [{"on": {"path": "/x", "fault": "teapot"}, "no_impact": True}]}, "'fault': "),
    ({"execute": "true", "failure": [{"on": {"path": "/x", "fields": 7}, "no_impact": True}]}, "'fields': expected JSON pointers"),
    ({"execute": "true", "assert_stubs": [{"times": 1}]}, "'on'"),
    ({"execute": "true", "assert_stubs": [{"on": USER, "read_only": True, "times": 1}]}, "what is read-only has no 'times'"),
    ({"execute": "true", "stubs": []}, "'stubs'"),
    ({"execute": "true", "failure": [{"on": {}, "no_impact": True}]}, "a key names a method, or a service at least")], ids=lambda each: json.dumps(each)[:60])
def test_wrong_input_is_named_with_its_line(project, test, text):
    project.write("filibuster.json", {"version": 1, "services": [], "tests": [{"name": "buy", "principled": test}]})
    run = project.filibuster("principled")
    assert run.exit_code == 2 and text in run.errors, run
    assert re.search(r"filibuster\.json:\d+", run.errors), run


OPENAPI = """
openapi: 3.0.0
info: {title: shop, version: "1"}
paths:
  /: {get: {responses: {"200": {description: bought}}}}
  /orders/{id}: {get: {responses: {"200": {description: one}}}, delete: {responses: {"204": {description: gone}}}}
"""


def test_methods_of_a_document_that_nothing_called_are_listed(principled, project):
    project.write("shop.yaml", OPENAPI)
    told = principled(failure=[*HARD, *ON_503, *SOFT], shop={"openapi": "shop.yaml"})
    methods = {method["method"]: (method["executions"], method["outcomes"]) for method in told.test["methods"]}
    assert methods == {"GET /": (3, ["a success", "503"]), "GET /orders/*": (0, []), "DELETE /orders/*": (0, [])}, told
    assert "DELETE /orders/* of 'shop': never called" in told.run.output, told
    project.write("shop.yaml", "paths: [")
    told = project.filibuster("principled")
    assert told.exit_code == 2 and "shop.yaml:1:" in told.errors, told
