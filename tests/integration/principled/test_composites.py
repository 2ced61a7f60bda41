"""Several faults in one execution: which statements are about them, and what their calls count."""
import json

import pytest

from shop import ASKS, FREE, ITEM, kind_of, principled, said


def test_faults_together_of_which_nothing_is_said(principled):
    rows = [{"on": kind_of(letter), "assert": "true"} for letter in "ab"]
    told = principled(ASKS.format(count=2, answer="200, 'bought'"), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}])
    assert told.only["kind"] == "ambiguous-failure-handling" and len(told.executions) == 4, told
    composite = json.loads(told.remedies[0])
    assert [key["request"] for key in composite["on"]] == [{"kind": "a"}, {"kind": "b"}], told


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


@pytest.mark.parametrize("method", [ITEM, {"method": "POST", "path": "/reserve", "fault": "503"}], ids=str)
def test_the_most_precise_statement_counts(principled, method):
    rows = [without(kind_of("a"), "a"), {"on": method, "assert": said("without b")}]
    told = principled(failed_of(2), users=[], failure=rows, assert_stubs=[{"on": ITEM, "times": 2}], options=["--max-faults", "1"])
    assert told.exit_code == 0 and len(told.executions) == 3, told


def test_executions_have_different_names(principled):
    told = principled(failed_of(2), users=[], failure=[*SINGLES[:2], without([ITEM, ITEM], "ab")], assert_stubs=[{"on": ITEM, "times": 2}])
    assert len({execution["name"] for execution in told.executions}) == len(told.executions) == 4, told


def test_what_is_stated_of_sets_that_were_left_out_is_no_mistake(principled):
    failure = [*SINGLES[:2], without([kind_of("a"), kind_of("b")], "ab")]
    for options, executions in (["--max-faults", "1"], 3), ([], 4):
        told = principled(failed_of(2), users=[], failure=failure, assert_stubs=[{"on": ITEM, "times": 2}], options=options)
        assert told.kinds == [] and len(told.executions) == executions, told
