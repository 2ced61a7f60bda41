"""Each diagnostic of docs/principled.md, provoked by a small service and stubs of HTTP and Redis; what chapter 11 of the dissertation
demands where its own tool differs; and wrong input. `used-outside-its-block` and `test-ended-in-a-block` are of programs that have the
blocks themselves: test_forms.py."""
import json
import re
import socket
import threading

import pytest

from conftest import PYTHON, TESTS
from small_apps import url

# Asks for the user, which it needs, and reserves, which it does not.
SHOP = """
def answer(call):
    if call("users", "GET", "/users/7")[0] != 200:
        return 503, "no user"
    return 200, "bought" if call("items", "POST", "/reserve", {"user": 7})[0] == 200 else "bought later"
"""
# The same, and needs nothing.
CALM = """
def answer(call):
    call("users", "GET", "/users/7")
    call("items", "POST", "/reserve", {"user": 7})
    return 200, "bought"
"""
# Asks each of `kinds`; says which of them failed.
ASKS = """
def answer(call):
    failed = [kind for kind in "abc"[:{count}] if call("items", "POST", "/reserve", {{"kind": kind}})[0] != 200]
    return {answer}
"""
USERS = [{"method": "GET", "path": "/users/7", "answer": {"json": {"name": "Ada"}}}]
ITEMS = [{"method": "POST", "path": "/reserve", "answer": {"text": "yes"}}]
USER, ITEM = "GET /users/7", "POST /reserve"
COUNTS = [{"on": USER, "times": 1}, {"on": ITEM, "times": 1}]
HARD = [{"on": USER, "throws": 503, "message": "no user"}]
ON_503 = [{"on_exception": 503, "side_effecting": [{"on": ITEM, "times": 0}]}]
SOFT = [{"on": ITEM, "assert": "exec grep -qx 'bought later' answer"}]
FREE = [{"on": USER, "no_impact": True}, {"on": ITEM, "no_impact": True}]


def kind_of(letter):
    return {"method": "POST", "path": "/reserve", "fields": {"/kind": letter}}


def said(text):
    return f"exec grep -qx '{text}' answer"


class Told:
    """What one run of `filibuster principled` has said."""

    def __init__(self, run):
        self.run, self.exit_code = run, run.exit_code
        self.document = json.loads((run.root / "principled.json").read_text())
        (self.test,) = self.document["tests"]
        self.executions = [execution for execution in self.test["executions"] if not execution["ahead"]]
        self.diagnostics = [execution["diagnostic"] for execution in self.executions if execution["diagnostic"]]
        self.diagnostics += self.test["diagnostics"] + self.document["diagnostics"]

    def __repr__(self):
        return repr(self.run)

    @property
    def kinds(self):
        return [diagnostic["kind"] for diagnostic in self.diagnostics]

    @property
    def only(self):
        (diagnostic,) = self.diagnostics
        return diagnostic

    @property
    def remedies(self):
        return [remedy["snippet"] for remedy in self.only["remedies"]]


@pytest.fixture
def principled(project):
    """principled(SOURCE, failure=[...], ...) runs the service against stubs, and returns what was told."""

    def go(source=SHOP, *, users=USERS, items=ITEMS, more=(), faults=(503,), options=(), members=None, env=None, **blocks):
        project.write("shop.py", source)
        services = [{"name": "users", "stubs": users}, {"name": "items", "stubs": items}, *more]
        ports = {f"PORT_{service['name'].upper()}": f"${{port:{service['name']}}}" for service in services}
        services.append({"name": "shop", "command": f"exec {PYTHON} -SE {TESTS}/principled/service.py ${{port:shop}} shop.py",
                         "env": {**ports, **(env or {})}})
        test = {"execute": f"exec curl -sS -o answer {url('shop')}", "assert_test": said("bought"), "assert_stubs": COUNTS, **blocks}
        project.write("filibuster.json", {"version": 1, "services": services, "default_faults": False,
                                          "faults": [{"on": {"caller": "shop"}, "inject": list(faults)}],
                                          "tests": [{"name": "buy", "principled": test}], **(members or {})})
        return Told(project.filibuster("principled", *options))

    return go


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


def test_faults_together_of_which_nothing_is_said(principled):
    rows = [{"on": kind_of(letter), "assert": "true"} for letter in "ab"]
    told = principled(ASKS.format(count=2, answer="200, 'bought'"), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.only["kind"] == "ambiguous-failure-handling" and len(told.executions) == 4, told
    composite = json.loads(told.remedies[0])
    assert [key["request"] for key in composite["on"]] == [{"kind": "a"}, {"kind": "b"}], told


# --- several faults ---

def failed_of(count, answer="200, 'without ' + ''.join(failed) if failed else 'bought'"):
    return ASKS.format(count=count, answer=answer)


def without(keys, letters):
    return {"on": keys, "assert": said(f"without {letters}")}


SINGLES = [without(kind_of(letter), letter) for letter in "abc"]


# (i)
@pytest.mark.parametrize("keys", [
    [kind_of("b"), kind_of("a")], [ITEM, ITEM], [ITEM, kind_of("a")], [{"service": "items"}, {**kind_of("a"), "fault": "503"}],
    [{"method": "POST", "path": "/*", "fault": "status:503"}, kind_of("b")]], ids=str)
def test_composites_are_compared_as_sets_at_any_precision(principled, keys):
    told = principled(failed_of(2), users=[], failure=[*SINGLES[:2], without(keys, "ab")], assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.exit_code == 0 and told.kinds == [] and len(told.executions) == 4, told


@pytest.mark.parametrize("keys", [[kind_of("a"), kind_of("a")], [kind_of("a"), {**kind_of("b"), "fault": "502"}], [ITEM, ITEM, ITEM]], ids=str)
def test_composites_that_name_other_faults(principled, keys):
    told = principled(failed_of(2), users=[], failure=[*SINGLES[:2], without(keys, "ab")], assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.only["kind"] == "ambiguous-failure-handling", told


# (j)
def test_composites_one_after_the_other(principled):
    pairs = [without([kind_of(a), kind_of(b)], a + b) for a, b in ("ab", "ac", "bc")]
    told = principled(failed_of(3), users=[], failure=[*SINGLES, *pairs], assert_stubs=[{"on": ITEM, "times": 3}])
    assert told.only["kind"] == "ambiguous-failure-handling" and len(told.executions) == 8, told
    told = principled(failed_of(3), users=[], failure=[*SINGLES, *pairs, without([ITEM] * 3, "abc")], assert_stubs=[{"on": ITEM, "times": 3}],
                      )
    assert told.exit_code == 0 and len(told.executions) == 8, told


def test_the_more_precise_composite_counts(principled):
    rows = [*SINGLES[:2], without([ITEM, ITEM], "ab"), {"on": [kind_of("a"), ITEM], "assert": "echo this one; exit 1"}]
    told = principled(failed_of(2), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.only["kind"] == "assert-on-fault-failed" and "this one" in told.only["text"] and len(told.executions) == 4, told


def test_composites_that_contradict_each_other(principled):
    rows = [*SINGLES[:2], without([kind_of("a"), ITEM], "ab"), {"on": [ITEM, kind_of("b")], "assert": "exit 1"}]
    told = principled(failed_of(2), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}])
    assert "specifications-contradict" in told.kinds, told


# (h)
def test_a_count_falls_by_each_fault_that_keeps_a_call_away(principled):
    twice = failed_of(2, "200, 'bought'")
    told = principled(twice, users=[], failure=[FREE[1]], assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.exit_code == 0 and len(told.executions) == 4, told
    told = principled(twice, users=[], failure=[FREE[1]], assert_stubs=[{"on": ITEM, "times": 2}], faults=["reset:after"])
    assert told.exit_code == 0 and len(told.executions) == 4, told


def test_a_repeated_call_is_one_more_than_is_stated(principled):
    source = """
def answer(call):
    for attempt in range(2):
        if call("items", "POST", "/reserve")[0] == 200:
            return 200, "bought"
    return 200, "bought later"
"""
    told = principled(source, users=[], failure=[FREE[1]], assert_stubs=[{"on": ITEM, "times": 1}])
    assert told.only["kind"] == "assertions-did-not-hold-under-error-response", told
    assert "is to be called never (1 less 1 of the faults), and was called once" in told.only["text"], told


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


@pytest.mark.parametrize("method", [ITEM, {"method": "POST", "path": "/reserve", "fault": "503"}], ids=str)
def test_the_most_precise_statement_counts(principled, method):
    rows = [without(kind_of("a"), "a"), {"on": method, "assert": said("without b")}]
    told = principled(failed_of(2), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}], options=["--max-faults", "1"])
    assert told.exit_code == 0 and len(told.executions) == 3, told


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


def test_executions_have_different_names(principled):
    told = principled(failed_of(2), users=[], failure=[*SINGLES[:2], without([ITEM, ITEM], "ab")], assert_stubs=[{"on": ITEM, "times": 2}])
    assert len({execution["name"] for execution in told.executions}) == len(told.executions) == 4, told


# --- how a test goes on and ends ---

def test_a_block_takes_no_longer_than_the_test_may(project):
    project.write("filibuster.json", {"version": 1, "services": [{"name": "users", "stubs": USERS}], "tests": [
        {"name": "buy", "timeout": "200ms", "principled": {"execute": "exec sleep 600"}}]})
    told = Told(project.filibuster("principled"))
    assert told.only["kind"] == "block-failed" and "it did not end within 200 ms" in told.only["text"], told


def test_it_goes_on_where_that_is_wanted(principled):
    told = principled(options=["--keep-going"])
    assert told.kinds == ["thrown-exception-unspecified", "injected-fault-unspecified"] and told.exit_code == 1, told


def test_a_bound_of_executions_ends_it(principled):
    told = principled(failure=HARD + ON_503 + SOFT, options=["--max-executions", "2"])
    assert told.kinds == [] and not told.test["finished"] and told.test["not_executed"] == 1, told


# --- wrong input ---

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
