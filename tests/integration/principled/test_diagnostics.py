"""Each diagnostic of docs/principled.md of one fault, provoked by a small service and stubs of HTTP; and what chapter 11 of the
dissertation demands where its own tool differs. `used-outside-its-block` and `test-ended-in-a-block` are of programs that have the
blocks themselves: test_forms.py."""
import json

import pytest

from shop import ASKS, CALM, COUNTS, FREE, HARD, ITEM, ITEMS, ON_503, SHOP, SOFT, USER, USERS, kind_of, principled, said


def test_all_that_is_stated_holds(principled):
    told = principled(failure=HARD + ON_503 + SOFT)
    assert told.exit_code == 0 and told.kinds == [] and len(told.executions) == 3, told
    assert "3 executions, and all that is stated holds" in told.run.output, told


# --- the happy path ---

@pytest.mark.parametrize("blocks, text", [
    ({"setup": "echo no room; exit 3"}, "the block 'setup' failed: exit status 3: no room"),
    ({"execute": "echo no way; exit 3"}, "the block 'execute' failed: exit status 3: no way"),
    ({"assert_test": "echo not bought; exit 1"}, "the block 'assert_test' failed: exit status 1: not bought"),
    ({"teardown": "exit 2", "failure": HARD}, "the block 'teardown' failed: exit status 2"),
    ({"source": "def answer(call):\n    return 500, 'broken'\n"}, "is answered 500 \"broken\"")],
    ids=["setup", "execute", "assert_test", "teardown", "service"])
def test_a_block_that_fails_without_faults(principled, blocks, text):
    told = principled(**blocks)
    assert told.exit_code == 1 and told.only["kind"] == "block-failed" and len(told.executions) == 1, told
    assert text in told.only["text"], told


def test_a_dependency_that_fails_by_itself(principled):
    told = principled(items=[{**ITEMS[0], "answer": {"status": 500, "text": "full"}}], assert_test=said("bought later"))
    assert told.only["kind"] == "dependency-failed-in-happy-path" and "POST /reserve" in told.only["text"] and "500" in told.only["text"], told


def test_a_dependency_that_fails_by_itself_under_a_fault_elsewhere(principled):
    """Of a sequence of answers the second one is an error: it is met where the first call got a fault after the stub had it."""
    source = """
def answer(call):
    call("users", "GET", "/users/7")
    if call("items", "POST", "/reserve")[0] != 200:
        call("items", "POST", "/reserve")
    return 200, "bought"
"""
    told = principled(source, items=[{**ITEMS[0], "answer": [{"text": "yes"}, {"status": 500}]}], faults=["reset:after"], failure=FREE)
    assert told.only["kind"] == "dependency-failed-in-happy-path", told


def test_a_call_without_a_stub(principled):
    told = principled(items=[])
    assert told.only["kind"] == "call-without-stub" and "no stub of 'items' answers POST /reserve" in told.only["text"], told
    (snippet,) = told.remedies
    assert json.loads(snippet) == {"method": "POST", "path": "/reserve", "request": {"user": 7}, "answer": {}}, told


@pytest.mark.parametrize("count", [{"times": "any"}, {"times": -1}, {"times": 1.5}, {}, {"times": ">= 1"}], ids=str)
def test_a_count_that_is_not_exact(principled, count):
    told = principled(assert_stubs=[COUNTS[0], {"on": ITEM, **count}])
    assert told.only["kind"] == "imprecise-count" and told.only["at"].startswith("filibuster.json:"), told


# (g)
@pytest.mark.parametrize("counts, kind", [
    ([{"on": kind_of("a"), "times": 1}], "stubbed-rpc-has-no-assertions"),
    ([{"on": kind_of("a"), "times": 1}, {"on": kind_of("b"), "times": 1}], "injected-fault-unspecified"),
    ([{"on": kind_of("a"), "times": 1}, {"on": ITEM, "read_only": True}], "injected-fault-unspecified"),
    ([{"on": ITEM, "times": 2}], "injected-fault-unspecified"),
    ([{"on": {"service": "items"}, "times": 2}], "injected-fault-unspecified")],
    ids=["one of two", "each", "read-only", "method", "service"])
def test_every_stub_is_covered_by_a_count(principled, counts, kind):
    stubs = [{**kind_of(letter), "answer": {"text": "yes"}} for letter in "ab"]
    told = principled(ASKS.format(count=2, answer="200, 'bought'"), users=[], items=stubs, assert_stubs=counts)
    assert told.only["kind"] == kind, told
    if kind == "stubbed-rpc-has-no-assertions":
        assert "stub 2 of 'items'" in told.only["text"], told
        (snippet,) = told.remedies
        assert json.loads(snippet) == {"on": "POST /reserve", "times": 1}, told


def test_a_count_that_differs(principled):
    told = principled(assert_stubs=[COUNTS[0], {"on": ITEM, "times": 2}])
    assert told.only["kind"] == "stub-count-differs", told
    assert told.only["text"] == "POST /reserve is to be called 2 times, and was called once", told


# --- the service answers with an error ---

def test_an_error_of_which_nothing_is_said(principled):
    told = principled()
    assert told.only["kind"] == "thrown-exception-unspecified" and len(told.executions) == 2, told
    assert json.loads(told.remedies[0]) == {"on": USER, "throws": 503, "message": "no user"}, told
    assert told.only["faults"][0]["method"] == USER and told.only["faults"][0]["fault"] == "status:503", told


@pytest.mark.parametrize("throws", [{"throws": 502}, {"throws": 503, "message": "no users"}, {"throws": "reset"}, {"throws": "UNAVAILABLE"}], ids=str)
def test_another_error_than_is_declared(principled, throws):
    told = principled(failure=[{"on": USER, **throws}, *ON_503])
    assert told.only["kind"] == "failed-rpc" and '503 "no user"' in told.only["text"], told


# (b)
FAULT_WITH_BODY = {"status": 503, "body": "down"}


@pytest.mark.parametrize("status, text, holds", [(502, "down", False), (503, "down again", False), (503, "down", True)])
def test_propagation_compares_code_and_message(principled, status, text, holds):
    source = f"""
def answer(call):
    if call("users", "GET", "/users/7")[0] != 200:
        return {status}, "{text}"
    call("items", "POST", "/reserve")
    return 200, "bought"
"""
    told = principled(source, faults=[FAULT_WITH_BODY], failure=[{"on": USER, "propagates": True}, FREE[1], *ON_503])
    assert told.kinds == ([] if holds else ["suppressed-status-code"]), told
    if not holds:
        assert f'{status} "{text}"' in told.only["text"] and '503 "down"' in told.only["text"], told


# (d)
@pytest.mark.parametrize("code", [503, 502])
def test_throwing_and_propagation_both(principled, code):
    told = principled(failure=[{"on": USER, "throws": code}, {"on": USER, "propagates": True}, *ON_503])
    assert told.only["kind"] == "ambiguous-throw-and-propagation", told
    told = principled(failure=[{"on": {"method": "GET", "path": "/users/7", "fault": "503"}, "throws": code}, {"on": USER, "propagates": True}])
    assert told.only["kind"] == "ambiguous-throw-and-propagation", told


def test_no_assertion_for_the_code(principled):
    told = principled(failure=HARD)
    assert told.only["kind"] == "missing-assertion-for-status-code", told
    snippet = json.loads(told.remedies[0])
    assert snippet["on_exception"] == 503 and snippet["side_effecting"] == [{"on": ITEM, "times": 0}], told


def test_an_assertion_for_the_code_that_fails(principled):
    told = principled(failure=[*HARD, {**ON_503[0], "assert": "echo money is gone; exit 1"}])
    assert told.only["kind"] == "assertions-for-exception-failed" and "money is gone" in told.only["text"], told


@pytest.mark.parametrize("again, kind", [
    ({"assert": "true"}, "dependency-not-declared-again"),
    ({"read_only": [ITEM]}, "injected-fault-unspecified"),
    ({"side_effecting": [{"on": ITEM, "times": 0}]}, "injected-fault-unspecified"),
    ({"side_effecting": [{"on": {"service": "items"}, "times": 0}]}, "injected-fault-unspecified"),
    ({"side_effecting": [{"on": ITEM, "times": 1}]}, "assertions-did-not-hold-under-error-response")], ids=str)
def test_what_comes_after_the_fault_is_declared_again(principled, again, kind):
    told = principled(failure=[*HARD, {"on_exception": 503, **again}])
    assert told.only["kind"] == kind, told


def test_what_is_declared_again_already_is_not_offered(principled):
    """At the line of the row that lacks it."""
    more = SHOP.replace("return 503", "return (call('users', 'GET', '/mail')[0] and 503)")
    users = [*USERS, {"method": "GET", "path": "/mail", "answer": {"text": ""}}]
    source = more.replace("    return 200", "    call('users', 'GET', '/mail')\n    return 200")
    told = principled(source, users=users, failure=[*HARD, {"on_exception": 503, "side_effecting": [{"on": ITEM, "times": 0}]}],
                      assert_stubs=[*COUNTS, {"on": "GET /mail", "times": 1}])
    assert told.only["kind"] == "dependency-not-declared-again", told
    assert [json.loads(snippet) for snippet in told.remedies] == [{"on": "GET /mail", "times": 1}, "GET /mail"], told


def test_a_fault_without_impact_that_ends_in_an_error(principled):
    told = principled(failure=FREE)
    assert told.only["kind"] == "declared-without-impact-but-threw", told


# (a)
TOGETHER = """
def answer(call):
    good = [call("users", "GET", "/users/7")[0] == 200, call("items", "POST", "/reserve")[0] == 200]
    return {answer} if not any(good) else (200, "bought")
"""


def test_faults_without_impact_that_together_end_in_an_error(principled):
    told = principled(TOGETHER.format(answer='(500, "nothing works")'), failure=FREE)
    assert told.only["kind"] == "declared-without-impact-but-failed-in-combination" and len(told.executions) == 4, told
    assert len(told.only["faults"]) == 2, told
    # What is offered is what has to be written.
    composite = json.loads(told.remedies[0])
    assert composite == {"on": [USER, ITEM], "throws": 500, "message": "nothing works"}, told
    told = principled(TOGETHER.format(answer='(500, "nothing works")'),
                      failure=[*FREE, composite, {"on_exception": 500, "assert": "true"}])
    assert told.exit_code == 0 and told.kinds == [], told


# --- the service answers with a success ---

def test_a_success_of_which_nothing_is_said(principled):
    told = principled(failure=HARD + ON_503)
    assert told.only["kind"] == "injected-fault-unspecified" and len(told.executions) == 3, told
    assert not any("no_impact" in snippet for snippet in told.remedies), told
    told = principled(CALM)
    assert told.only["kind"] == "injected-fault-unspecified" and json.loads(told.remedies[0]) == FREE[0], told


def test_an_assertion_for_the_fault_that_fails(principled):
    told = principled(failure=[*HARD, *ON_503, {"on": ITEM, "assert": said("bought tomorrow")}])
    assert told.only["kind"] == "assert-on-fault-failed", told


def test_a_fault_without_impact_under_which_the_assertions_fail(principled):
    told = principled(failure=[*HARD, *ON_503, FREE[1]])
    assert told.only["kind"] == "assert-test-failed", told


def test_faults_without_impact_under_which_the_assertions_fail_together(principled):
    told = principled(TOGETHER.format(answer='(200, "not bought")'), failure=FREE)
    assert told.only["kind"] == "assert-test-failed-with-several-faults" and len(told.executions) == 4, told


# (c)
@pytest.mark.parametrize("statement", [{"throws": 503}, {"propagates": True}], ids=str)
def test_a_success_where_an_error_is_declared(principled, statement):
    told = principled(CALM, failure=[{"on": USER, **statement}])
    assert told.only["kind"] == "declared-to-throw-but-succeeded", told


@pytest.mark.parametrize("row, holds", [
    ({}, False), ({"read_only": [ITEM]}, True), ({"side_effecting": [{"on": ITEM, "times": 2}]}, True),
    ({"side_effecting": [{"on": ITEM, "times": 1}]}, False)], ids=str)
def test_counts_beside_the_assertion_of_a_fault(principled, row, holds):
    """Without the user it reserves twice."""
    source = """
def answer(call):
    times = 1 if call("users", "GET", "/users/7")[0] == 200 else 2
    for i in range(times):
        call("items", "POST", "/reserve")
    return 200, "bought"
"""
    told = principled(source, failure=[{"on": USER, "assert": "true", **row}], options=["--max-faults", "1", "--max-executions", "2"])
    assert told.kinds == ([] if holds else ["assertions-did-not-hold-under-error-response"]), told


def test_counts_stand_without_a_command(principled):
    told = principled(failure=[*HARD, *ON_503, {"on": ITEM, "read_only": [USER]}])
    assert told.exit_code == 0, told
