"""`filibuster lint` on small services, each of which makes its calls in one questionable way, and on the example
applications: what is found, what is not, and where it is said to be."""
import json
import re
import signal

import pytest

import pairs
from conftest import CORPUS, PYTHON, wait_until
from small_apps import APPS, config, probe, url

PATTERNS = APPS / "patterns.py"
SOURCE = PATTERNS.read_text().splitlines()


def service(name, pattern, *urls):
    quoted = " ".join(f"'{target}'" for target in urls)
    return {"name": name, "command": f"exec {PYTHON} {PATTERNS} ${{port:{name}}} {pattern} {quoted}".strip()}


def application(pattern, *more):
    """A test asks front, which asks store by `pattern`."""
    services = [service("store", "store"), *more,
                service("front", pattern, url("store"), *[url(each["name"]) for each in more])]
    return config(services, [probe(url("front"), expected="200,503")])


def lint(project, what, *options):
    """The exit code, and lint.json's only test."""
    project.write("filibuster.json", what)
    run = project.filibuster("lint", "--format", "json", *options)
    assert run.exit_code in (0, 1), run
    document = json.loads(run.output)
    assert document["version"] == 1 and document["exit_code"] == run.exit_code, run
    assert json.loads((project.root / "lint.json").read_text()) == document
    (test,) = document["tests"]
    assert test["finished"], run
    assert run.exit_code == (1 if test["findings"] else 0), run
    return test


def found(test):
    return sorted(finding["lint"] for finding in test["findings"])


def only(test, name):
    (finding,) = [finding for finding in test["findings"] if finding["lint"] == name]
    return finding


def line_of(text):
    (number,) = [number for number, line in enumerate(SOURCE, 1) if text in line]
    return number


def site(test, caller, service):
    (row,) = [row for row in test["call_sites"] if (row["caller"], row["service"]) == (caller, service)]
    return row


# --- one execution ------------------------------------------------------------------------------

def test_a_plain_call_is_listed_and_nothing_is_found(project):
    test = lint(project, application("once"), "--no-probes")
    assert found(test) == [] and test["probes"] == 0
    row = site(test, "front", "store")
    assert row["file"] == str(PATTERNS) and row["line"] == line_of('connection.request("GET", path)')
    assert (row["timeout"], row["retries"], row["rpcs"]) == ("not probed", None, 1)
    assert [skip["reason"] for skip in test["not_probed"]] == ["probes are switched off"]


def test_the_same_request_twice_is_found_at_both_lines(project):
    test = lint(project, application("twice"), "--no-probes")
    assert found(test) == ["redundant-rpc"]
    finding = only(test, "redundant-rpc")
    assert finding["severity"] == "warning" and len(finding["rpcs"]) == 2
    callers = [int(re.search(r"patterns.py:(\d+) \(twice\)", "\n".join(rpc["stack"]))[1]) for rpc in finding["rpcs"]]
    assert callers == [line_of('first = get(urls[0]'), line_of('return first | get')]


def test_the_same_request_from_two_services_is_found(project):
    other = service("other", "once", url("store"))
    test = lint(project, application("through", other), "--no-probes")
    assert found(test) == ["redundant-across-services"]
    finding = only(test, "redundant-across-services")
    assert {rpc["caller"] for rpc in finding["rpcs"]} == {"front", "other"}
    assert finding["severity"] == "warning"


def test_an_answer_that_only_leads_to_the_next_call_is_a_chain(project):
    test = lint(project, application("chain"), "--no-probes")
    assert found(test) == ["call-chain", "forwarded-response"]
    assert "'favourite'" in only(test, "forwarded-response")["text"]
    assert only(test, "call-chain")["rpcs"][0]["path"] == "/movies/movie-267e"


def test_an_answer_that_is_shown_too_is_no_chain(project):
    test = lint(project, application("aggregate"), "--no-probes")
    assert found(test) == ["forwarded-response"]


def test_one_call_for_each_element_of_a_list_is_found(project):
    test = lint(project, application("each"), "--no-probes")
    assert found(test) == ["forwarded-response", "n-plus-one"]
    finding = only(test, "n-plus-one")
    assert [rpc["path"] for rpc in finding["rpcs"]] == ["/movies/movie-267e", "/movies/movie-7daf", "/movies/movie-39ab"]


def test_calls_of_a_background_thread_have_no_known_cause(project):
    test = lint(project, application("background"))
    # A beat that was sent before the execution began and arrives in it has no known caller either.
    assert set(found(test)) == {"unknown-cause"}
    callers = {finding["rpcs"][0]["caller"] for finding in test["findings"]}
    assert "front" in callers and callers <= {"front", ""}
    assert test["probes"] == 0
    reasons = {skip["reason"].split(": ")[0] for skip in test["not_probed"]}
    of_background = "made by a background task of front"
    assert of_background in reasons and reasons <= {of_background, "its cause is not known"}, test


# --- probes -------------------------------------------------------------------------------------

def test_a_call_with_a_timeout_and_no_retry_passes_the_probes(project):
    test = lint(project, application("once"))
    assert found(test) == []
    row = site(test, "front", "store")
    assert (row["timeout"], row["retries"]) == ("fires", 0)
    assert test["probes"] == 3, "a 503, a refused connection, a silence"


def test_a_caller_without_a_timeout_is_found_and_can_be_replayed(project):
    test = lint(project, application("patient"), "--silence", "0.5")
    assert found(test) == ["no-timeout"]
    finding = only(test, "no-timeout")
    assert finding["severity"] == "error" and "0.5 s" in finding["text"] or "500 ms" in finding["text"], finding
    assert finding["rpcs"][0]["file"] == str(PATTERNS)
    assert site(test, "front", "store")["timeout"] == "none"
    replay = project.filibuster("replay", finding["replay"])
    assert replay.exit_code == 1 and "caller has no timeout" in replay.output, replay


def test_retries_at_once_are_found_with_their_gaps(project):
    test = lint(project, application("eager"))
    assert found(test) == ["retry-without-backoff"]
    finding = only(test, "retry-without-backoff")
    assert re.search(r"3 times under status:503, [\d.]+ ms, [\d.]+ ms and [\d.]+ ms after", finding["text"]), finding
    assert len(finding["rpcs"]) == 4 and {rpc["path"] for rpc in finding["rpcs"]} == {"/users/7"}


def test_retries_that_wait_longer_each_time_are_not(project):
    test = lint(project, application("backoff"))
    assert found(test) == []
    assert site(test, "front", "store")["retries"] == 3


def test_a_call_that_only_a_failure_leads_to_is_probed_behind_it(project):
    test = lint(project, application("fallback", service("spare", "store")), "--silence", "0.5")
    assert found(test) == ["no-timeout"]
    finding = only(test, "no-timeout")
    assert finding["rpcs"][0]["service"] == "spare"
    assert "only made under {front -> store GET /users/7: status:503}" in finding["text"]
    row = site(test, "front", "spare")
    assert (row["rpcs"], row["timeout"]) == (0, "none")
    assert site(test, "front", "store")["timeout"] == "fires"


def test_a_bound_of_probes_says_what_it_left_out(project):
    test = lint(project, application("once"), "--max-probes", "1")
    assert test["probes"] == 1
    assert {(skip["what"], skip["reason"]) for skip in test["not_probed"]} == {
        ("retries", "the bound of probes was reached"), ("timeout", "the bound of probes was reached")}


def test_a_call_site_is_probed_in_the_first_test_that_reaches_it(project):
    what = application("patient")
    what["tests"].append(what["tests"][0] | {"name": "again"})
    project.write("filibuster.json", what)
    run = project.filibuster("lint", "--format", "json", "--silence", "0.5")
    first, second = json.loads(run.output)["tests"]
    assert (first["probes"], found(first)) == (3, ["no-timeout"]), run
    assert (second["probes"], found(second), second["not_probed"]) == (0, [], []), run
    assert site(first, "front", "store")["timeout"] == site(second, "front", "store")["timeout"] == "none"


def test_what_the_fault_rules_leave_out_is_not_probed(project):
    what = application("patient") | {"faults": [{"on": {"service": "store"}, "inject": []}]}
    test = lint(project, what)
    assert found(test) == [] and test["probes"] == 0
    assert [skip["reason"] for skip in test["not_probed"]] == ["the fault rules of the configuration leave it out"]


# --- what is shown ------------------------------------------------------------------------------

def test_a_person_reads_the_finding_its_line_and_the_next_command(project):
    project.write("filibuster.json", application("each"))
    run = project.filibuster("lint", "--no-probes")
    assert run.exit_code == 1, run
    assert run.output.index("warning  n-plus-one") < run.output.index("note  forwarded-response"), run
    assert f"{PATTERNS}:{line_of('connection.request(')} (get)" in run.output, run
    assert "see it among the others: filibuster trace -c filibuster.json" in run.output, run
    assert "0 probes" in run.output and "call sites:" in run.output, run


def test_findings_below_a_severity_and_of_a_lint_that_is_left_out_do_not_count(project):
    project.write("filibuster.json", application("each"))
    run = project.filibuster("lint", "--no-probes", "--severity", "warning", "--without", "n-plus-one")
    assert run.exit_code == 0 and "nothing found" in run.output, run
    run = project.filibuster("lint", "--no-probes", "--severity", "error")
    assert run.exit_code == 0, run


def test_usage_is_2_and_the_environment_3(project):
    project.write("filibuster.json", application("once"))
    for options in (["--format", "xml"], ["--severity", "fatal"], ["--without", "no-such-lint"], ["--silence", "-1"],
                    ["--json", "--format", "sarif"], ["-c", "missing.json"]):
        run = project.filibuster("lint", *options)
        assert run.exit_code == 2 and run.errors, (options, run)
    broken = application("once")
    broken["tests"][0]["command"] = "exit 9"
    project.write("filibuster.json", broken)
    run = project.filibuster("lint")
    assert run.exit_code == 3 and "fails without any fault" in run.errors, run


def test_an_interrupted_lint_tells_what_it_knows(project):
    project.write("filibuster.json", application("patient"))
    process = project.start("lint", "--silence", "600")
    wait_until(lambda: "reference execution" in process.stderr.readline(), "the reference execution is over")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 3 and "NOT FINISHED" in output, (output, errors)
    assert errors.endswith("interrupted: run the same command again; it begins anew\n"), errors


# --- SARIF --------------------------------------------------------------------------------------

# What the 2.1.0 schema says of the objects that are used: required members, allowed members.
OBJECTS = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "invocations", "originalUriBaseIds"}),
    "driver": ({"name"}, {"semanticVersion", "rules"}),
    "rule": ({"id"}, {"shortDescription", "help", "defaultConfiguration"}),
    "invocation": ({"executionSuccessful"}, {"exitCode", "toolExecutionNotifications"}),
    "notification": ({"message"}, {"level", "locations"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "partialFingerprints",
                             "properties"}),
    "location": (set(), {"id", "physicalLocation", "logicalLocations", "message"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "artifactLocation": (set(), {"uri", "uriBaseId"}),
    "region": ({"startLine"}, set()),
    "logicalLocation": (set(), {"name", "fullyQualifiedName", "kind"}),
    "message": ({"text"}, set()),
}
LEVELS = {"none", "note", "warning", "error"}
URI = re.compile(r"[A-Za-z0-9\-._~/!$&'()*+,;=@:%]+")


def is_a(kind, value):
    required, allowed = OBJECTS[kind]
    assert isinstance(value, dict) and required <= set(value) <= required | allowed, (kind, value)
    return value


def check_location(location):
    is_a("location", location)
    if "physicalLocation" in location:
        physical = is_a("physicalLocation", location["physicalLocation"])
        assert URI.fullmatch(is_a("artifactLocation", physical["artifactLocation"])["uri"]), physical
        assert is_a("region", physical["region"])["startLine"] >= 1
    for logical in location["logicalLocations"]:
        assert all(isinstance(text, str) and text for text in is_a("logicalLocation", logical).values())
    if "message" in location:
        assert is_a("message", location["message"])["text"]
    assert location.get("id", 0) >= 0


def check_sarif(document):
    assert is_a("log", document)["version"] == "2.1.0"
    (run,) = document["runs"]
    is_a("run", run)
    assert set(run["tool"]) == {"driver"}
    driver = is_a("driver", run["tool"]["driver"])
    for rule in driver["rules"]:
        is_a("rule", rule)
        assert rule["shortDescription"]["text"] and rule["defaultConfiguration"]["level"] in LEVELS
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for base in run["originalUriBaseIds"].values():
        assert is_a("artifactLocation", base)["uri"].startswith("file:///") and base["uri"].endswith("/")
    for invocation in run["invocations"]:
        assert isinstance(is_a("invocation", invocation)["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert is_a("notification", notification)["level"] in LEVELS
            assert is_a("message", notification["message"])["text"]
            for location in notification["locations"]:
                check_location(location)
    for result in run["results"]:
        assert is_a("result", result)["level"] in LEVELS and is_a("message", result["message"])["text"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert all(isinstance(text, str) for text in result["partialFingerprints"].values())
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            check_location(location)
    return run


def test_sarif_has_what_its_schema_requires_and_the_lines_of_the_findings(project):
    project.write("filibuster.json", application("each"))
    run = project.filibuster("lint", "--format", "sarif", "--no-probes")
    assert run.exit_code == 1, run
    checked = check_sarif(json.loads(run.output))
    assert [(result["ruleId"], result["level"]) for result in checked["results"]] == [
        ("n-plus-one", "warning"), ("forwarded-response", "note")]
    place = checked["results"][0]["locations"][0]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": f"file://{PATTERNS}"},
                                         "region": {"startLine": line_of('connection.request("GET", path)')}}
    assert place["logicalLocations"] == [{"name": "get", "fullyQualifiedName": "front/get", "kind": "function"}]
    assert checked["invocations"][0]["toolExecutionNotifications"], "the site that was not probed"


def test_sarif_names_files_below_the_configuration_relative_to_it(project):
    run = project.filibuster("lint", "--format", "sarif", "--no-probes", "-c", CORPUS / "cinema-1" / "filibuster.json")
    (result,) = check_sarif(json.loads(run.output))["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "users.py", "uriBaseId": "SRCROOT"}


# --- the example applications (docs/lint.md derives what is expected) ---------------------------

def lint_corpus(project, name):
    run = project.filibuster("lint", "--format", "json", "-c", CORPUS / name / "filibuster.json")
    assert run.exit_code in (0, 1), run
    (test,) = json.loads(run.output)["tests"]
    assert test["finished"] and test["not_probed"] == [], run
    sites = {(row["caller"], row["service"]): (row["rpcs"], row["timeout"], row["retries"])
             for row in test["call_sites"] if row["caller"] != "test"}
    return test, sites


def test_cinema_1_passes_the_movie_of_a_booking_on(project):
    test, sites = lint_corpus(project, "cinema-1")
    assert found(test) == ["forwarded-response"]
    finding = only(test, "forwarded-response")
    assert [rpc["service"] for rpc in finding["rpcs"]] == ["movies", "bookings"]
    assert finding["rpcs"][0]["file"].endswith("cinema-1/users.py")
    assert sites == {("users", "bookings"): (1, "fires", 0), ("users", "movies"): (1, "fires", 0)}


# cinema-3 has all of cinema-2, and a retry.
@pairs.only("name", ["cinema-3"])
@pytest.mark.parametrize("name, retries", [("cinema-2", 0), ("cinema-3", 1)])
def test_cinema_2_and_3_have_nothing_to_complain_about(project, name, retries):
    test, sites = lint_corpus(project, name)
    assert found(test) == []
    assert sites == {("users", "bookings"): (1, "fires", retries), ("bookings", "movies"): (1, "fires", 0)}


def test_expedia_has_nothing_to_complain_about_and_its_fallback_is_looked_at(project):
    test, sites = lint_corpus(project, "expedia")
    assert found(test) == []
    assert sites == {("api-gateway", "review-ml"): (1, "fires", 0), ("api-gateway", "review-time"): (0, "fires", 0)}
