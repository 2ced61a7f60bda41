"""`filibuster verify`: cases are replayed against the service alone, and each of the ways in which a change may break it is told apart."""
import json
import socket
import xml.etree.ElementTree

import jsonschema
import pytest

from conftest import REPOSITORY
from record.hand_made import SEAL, case, configuration, http_call, redis_call, write_cases

SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/schema/verify.schema.json").read_text()))
PRICE = {"id": 7, "total": 1000}
ORDER = [redis_call("GET", "price:7"), http_call("/tax", 50), http_call("/prices/7", 950), redis_call("SET", "price:7", "950", reply={"status": "OK"})]
CACHED = [redis_call("GET", "price:8", reply="100"), http_call("/tax", 1)]
FIRST, SECOND = case("/orders/7", ORDER, PRICE, second=1), case("/orders/8", CACHED, {"id": 8, "total": 101}, second=2)


def verify(project, *options, bug="", **environment):
    project.write("filibuster.json", json.dumps(configuration(BUG=bug, **environment)))
    run = project.filibuster("verify", "cases", *options)
    path = project.root / "verify.json"
    if not path.exists():
        return run, None
    found = json.loads(path.read_text())
    SCHEMA.validate(found)
    return run, found


def kinds(row):
    return [each["kind"] for each in row["differences"]]


def test_cases_pass_without_any_dependency(project):
    write_cases(project.directory / "cases", FIRST, SECOND)
    run, found = verify(project)
    assert run.exit_code == 0 and "2 cases: 2 passed" in run.output, run
    assert [(row["judged"], row["recorded"], row["served"]) for row in found["cases"]] == [("passed", 4, 4), ("passed", 2, 2)], found
    # Nothing else was started, and nobody else asked.
    assert not (project.directory / "it-runs").exists(), run


@pytest.mark.parametrize("bug, first, text", [
    ("order", "order", "call 1, GET /tax of pricing, came before call 0 was answered, GET price:7 of cache"),
    ("input", "input", 'call 1, GET /tax of pricing, brings something else: /query/of is new: "all"'),
    ("missing", "missing", "call 1 did not come: GET /tax of pricing"),
    ("extra", "extra", "no recorded call answers GET /audit of pricing; the nearest is call "),
    ("answer", "answer", 'the answer is another: /json/by is new: "me"'),
    ("dropped", "missing", "call 3 did not come: SET price:7 950 of cache"),
])
def test_each_way_to_differ_is_told_apart(project, bug, first, text):
    write_cases(project.directory / "cases", FIRST)
    run, found = verify(project, bug=bug)
    (row,) = found["cases"]
    assert run.exit_code == 1 and row["judged"] == "differs" and kinds(row)[0] == first, run
    assert text in row["differences"][0]["text"] and text in run.output, run


def test_calls_at_the_same_time_in_the_place_of_one_after_the_other_are_another_order(project):
    # The second one is sent at once, but on a busy machine the service may lose its processor in between: hardly in both cases.
    write_cases(project.directory / "cases", FIRST, case("/again/7", ORDER, PRICE, second=1))
    run, found = verify(project, bug="together")
    told = [row["differences"][0]["text"] for row in found["cases"] if kinds(row) == ["order"]]
    assert run.exit_code == 1 and "call 2, GET /prices/7 of pricing, came before call 1 was answered, GET /tax of pricing" in told, run


def test_documents_for_ci(project):
    paths = write_cases(project.directory / "cases", FIRST, SECOND)
    run, _ = verify(project, "--junit", "junit.xml", "--sarif", "sarif.json", "--markdown", "summary.md", bug="dropped")
    suite = xml.etree.ElementTree.parse(project.directory / "junit.xml").find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0"), run
    (failure,) = suite.iter("failure")
    assert failure.get("type") == "missing" and "call 3 did not come" in failure.get("message"), run
    (result,) = json.loads((project.directory / "sarif.json").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    line = paths[0].read_text().splitlines()[place["region"]["startLine"] - 1]
    assert place["artifactLocation"]["uri"] == "cases/orders/aaaaaaaaaaaa.json" and "SET" in line, place
    assert "2 cases: 1 passed, 1 differs" in (project.directory / "summary.md").read_text(), run


def test_a_service_that_dies_differs(project):
    """It stayed alive in the recording."""
    write_cases(project.directory / "cases", FIRST)
    run, found = verify(project, bug="dies")
    assert run.exit_code == 1 and found["cases"][0]["judged"] == "differs", run
    assert "service 'orders' ended with exit status 3" in run.output, run


def test_a_call_that_leaves_the_machine_of_the_cases_is_no_conclusion(project):
    write_cases(project.directory / "cases", FIRST)
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        port = elsewhere.getsockname()[1]
        project.write("filibuster.json", json.dumps(configuration(BUG="elsewhere", ELSEWHERE_PORT=str(port))))
        run = project.filibuster("verify", "cases")
    assert run.exit_code == 3, run
    assert f"the service called POST /mail of 127.0.0.1:{port}, which is no service of the configuration" in run.output, run


def test_equal_requests_at_the_same_time_get_their_answers_in_order(project):
    calls = [http_call("/prices/5", 3, after=[]), http_call("/prices/5", 4, after=[])]
    write_cases(project.directory / "cases", case("/both/5", calls, {"total": 7}))
    run, _ = verify(project)
    assert run.exit_code == 0, run


@pytest.mark.parametrize("bug", ["input", "missing", "answer", "dropped", "order"])
def test_what_differs_is_accepted(project, bug):
    write_cases(project.directory / "cases", FIRST, SECOND)
    run, found = verify(project, "--update", bug=bug)
    assert run.exit_code == 0 and found["cases"][0]["updated"], run
    again, _ = verify(project, bug=bug)
    assert again.exit_code == 0 and "2 cases: 2 passed" in again.output, again
    # The service as it was does not pass any more. Of an order it is accepted that it varies.
    before, _ = verify(project)
    assert before.exit_code == (0 if bug == "order" else 1), before


def test_a_new_call_has_no_answer_to_be_accepted_with(project):
    (path,) = write_cases(project.directory / "cases", FIRST)
    written = path.read_text()
    run, found = verify(project, "--update", bug="extra")
    assert run.exit_code == 1 and "record the case again" in found["cases"][0]["not_updated"], run
    assert path.read_text() == written, run


def test_what_a_service_keeps_in_its_memory_is_there_as_it_was(project):
    # The tax is asked for once.
    second = case("/orders/8", CACHED[:1], {"id": 8, "total": 150}, second=2)
    paths = write_cases(project.directory / "cases", FIRST, second)
    run, _ = verify(project, FEATURE="memory")
    assert run.exit_code == 0, run
    # What is accepted is the answer alone, and neither of them depends on how often the case was replayed for it.
    run, found = verify(project, "--update", bug="answer", FEATURE="memory")
    assert run.exit_code == 0 and [row["updated"] for row in found["cases"]] == [True, True], run
    assert [len(json.loads(path.read_text())["calls"]) for path in paths] == [4, 1], run
    again, _ = verify(project, bug="answer", FEATURE="memory")
    assert again.exit_code == 0, again


def test_secrets_are_not_compared_and_not_written(project):
    token, secret = "tk-0123456789", "sk-9876543210"
    calls = [ORDER[0], http_call(f"/tax?api_key={token}", 50), *ORDER[2:]]
    (path,) = write_cases(project.directory / "cases", case("/orders/7", calls, PRICE))
    run, _ = verify(project, FEATURE="key", API_KEY=secret)
    assert run.exit_code == 0, run
    run, _ = verify(project, "--update", bug="answer", FEATURE="key", API_KEY=secret)
    assert run.exit_code == 0, run
    written = [each.read_text() for root in (project.directory / "cases", project.root) for each in root.rglob("*") if each.suffix == ".json"]
    assert not any(secret in text for text in written) and '"by": "me"' in path.read_text(), run
    run, _ = verify(project, FEATURE="key", API_KEY=secret)
    assert run.exit_code == 1, "the other field counts"


def test_a_call_behind_the_answer_is_waited_for(project):
    calls = [*ORDER, redis_call("SET", "late", "7", reply={"status": "OK"}, after=[])]
    write_cases(project.directory / "cases", case("/orders/7", calls, PRICE))
    run, _ = verify(project, FEATURE="late")
    assert run.exit_code == 0, run


def test_a_call_behind_the_answer_is_told_with_its_own_case(project):
    write_cases(project.directory / "cases", FIRST, SECOND)
    run, found = verify(project, bug="behind")
    first, second = found["cases"]
    assert run.exit_code == 1 and kinds(first) == ["extra"] and "GET /audit of pricing" in first["differences"][0]["text"], run
    assert second["judged"] == "passed" and second["served"] == 2, run


def test_a_call_behind_the_last_answer_is_seen(project):
    write_cases(project.directory / "cases", FIRST)
    run, found = verify(project, FEATURE="late")
    assert run.exit_code == 1 and kinds(found["cases"][0]) == ["extra"], run


def test_a_call_of_the_start_that_is_not_recorded_is_no_conclusion(project):
    write_cases(project.directory / "cases", FIRST)
    run, found = verify(project, bug="start")
    assert run.exit_code == 3 and found["judged"] == "no conclusion" and len(found["process_misses"]) == 1, run
    assert "by itself (at its start, or in a loop) the service made a call that is not recorded" in run.output, run


def test_without_a_configuration_the_service_is_enough(project):
    write_cases(project.directory / "cases", case("/both/5", [http_call("/prices/5", 3, after=[]), http_call("/prices/5", 4, after=[])], {"total": 7}))
    service = configuration()["services"][-1]["command"]
    run = project.filibuster("verify", "cases", "--service", "orders=PRICING_PORT=${port:pricing} CACHE_PORT=1 " + service,
                             "--service", "pricing=true ${port:pricing}")
    assert run.exit_code == 0, run


def test_one_case_alone(project):
    write_cases(project.directory / "cases", FIRST, SECOND)
    run, found = verify(project, "--case", "bbbbbbbbbbbb")
    assert run.exit_code == 0 and [row["name"] for row in found["cases"]] == ["bbbbbbbbbbbb"], run
    run, _ = verify(project, "--case", "bbbbbbbbbbbc")
    assert run.exit_code == 2 and "did you mean 'bbbbbbbbbbbb'?" in run.errors, run


def test_an_edited_case_is_refused_until_it_is_accepted(project):
    (path,) = write_cases(project.directory / "cases", FIRST)
    text = path.read_text()
    path.write_text(text.replace('"total": 1000', '"total": 1001'))
    run, _ = verify(project)
    assert run.exit_code == 2 and f"{path}:" in run.errors and "seal" in run.errors, run
    path.write_text(text[:200])
    run, _ = verify(project)
    assert run.exit_code == 2 and f"{path}:" in run.errors, run


@pytest.mark.parametrize("change, expected", [
    (lambda folder: (folder / "set.json").unlink(), "this is no folder of cases: it has no set.json"),
    (lambda folder: (folder / "set.json").write_text('{"format": 99}'), "set.json:1:"),
])
def test_what_is_no_folder_of_cases_is_refused(project, change, expected):
    write_cases(project.directory / "cases", FIRST)
    change(project.directory / "cases")
    run, _ = verify(project)
    assert run.exit_code == 2 and expected in run.errors, run


def test_where_there_is_no_case_that_is_said(project):
    write_cases(project.directory / "cases")
    run, found = verify(project)
    assert run.exit_code == 3 and "no conclusion: there is no case to replay in " in run.output and found["judged"] == "no conclusion", run
    (project.directory / "cases/set.json").unlink()
    run = project.filibuster("verify", "cases")
    assert run.exit_code == 3 and "cases is empty: there is no case to replay" in run.errors, run


def test_the_service_of_the_cases_is_named(project):
    write_cases(project.directory / "cases", FIRST)
    document = configuration()
    document["services"].pop()
    project.write("filibuster.json", json.dumps(document))
    run = project.filibuster("verify", "cases")
    assert run.exit_code == 2 and "the cases are of service 'orders', and the configuration has no service of that name" in run.errors, run


def test_a_case_without_calls_shows_nothing_where_all_others_have_none_answered(project):
    write_cases(project.directory / "cases", case("/orders/7", [redis_call("GET", "price:9")], PRICE))
    run, found = verify(project)
    assert run.exit_code == 1 and kinds(found["cases"][0])[0] == "input", run
    assert SEAL not in (project.directory / "cases").rglob("*.json").__next__().read_text(), run
