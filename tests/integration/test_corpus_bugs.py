"""Each seeded bug of the example applications is found, by the fault that it waits for; without it there is nothing
to find.

(That the repaired applications are silent under the whole default set is what test_corpus_counts.py sees: exit code 0.)
"""
import pytest

import pairs
from conftest import CORPUS
from corpus import in_place

SINGLE = ["--max-faults", "1"]


def run(project, application, *options, **environment):
    return project.filibuster("run", "-c", CORPUS / application / "filibuster.json", *options, env=environment)


def faulted(outcome):
    """{service: faults that alone lead to a finding}."""
    out = {}
    for finding in outcome.test["findings"]:
        (fault,) = finding["faults"]
        assert finding["reproduced"], outcome
        out.setdefault(fault["service"], set()).add(fault["fault"])
    return out


def assert_silent(outcome):
    assert outcome.exit_code == 0 and not outcome.test["findings"], outcome
    assert outcome.executed > 1, outcome


STATUSES = {"status:500", "status:502", "status:503"}
NO_ANSWER = {"refused", "timeout"}


def test_audible_tells_the_user_to_try_again_when_chapters_are_missing(project):
    outcome = run(project, "audible", "--fault", "404", *SINGLE, AUDIBLE_BUG="missing-chapters")
    assert outcome.exit_code == 1 and faulted(outcome) == {"asset-metadata": {"status:404"}}, outcome


@pytest.mark.whole
def test_audible_repaired_tells_them_that_it_is_not_there(project):
    assert_silent(run(project, "audible", "--fault", "404"))


def mailchimp(project, **environment):
    """One fault at a time; only the databases refuse to write."""
    config = in_place(CORPUS / "mailchimp" / "filibuster.json")
    config["faults"] = [{"on": {"service": service, "method": "POST"}, "inject": [403]}
                        for service in ("db-primary", "db-secondary")]
    config["faults"].append({"on": {}, "inject": ["refused", 503]})
    return project.filibuster("run", "-c", project.write("filibuster.json", config), *SINGLE, env=environment)


def test_mailchimp_shows_what_the_database_says(project):
    outcome = mailchimp(project, MAILCHIMP_BUGS="1")
    assert outcome.exit_code == 1 and faulted(outcome) == {"db-primary": {"status:403"}}, outcome


# The other bug of the same application is in the test above.
@pytest.mark.whole
def test_mailchimp_shows_the_raw_error_without_requestmapper(project):
    outcome = mailchimp(project, MAILCHIMP_BUGS="2")
    assert outcome.exit_code == 1 and faulted(outcome) == {"requestmapper": {"refused", "status:503"}}, outcome


@pytest.mark.whole
def test_mailchimp_repaired_is_silent(project):
    assert_silent(mailchimp(project))


def test_netflix_asks_the_same_server_again(project):
    outcome = run(project, "netflix", *SINGLE, NETFLIX_BUGS="2")
    assert outcome.exit_code == 1 and faulted(outcome) == {"my-list": NO_ANSWER}, outcome


def test_netflix_has_no_page_without_a_profile(project):
    outcome = run(project, "netflix", *SINGLE, NETFLIX_BUGS="3")
    assert outcome.exit_code == 1 and faulted(outcome) == {"user-profile": NO_ANSWER | STATUSES}, outcome


def test_netflix_repaired_is_silent(project):
    assert_silent(run(project, "netflix", *SINGLE, NETFLIX_PROFILE_TELEMETRY="1"))


def with_telemetry_faults(project, *faults):
    """The configuration in which only User Profile's call of Telemetry gets faults."""
    config = in_place(CORPUS / "netflix" / "filibuster.json")
    config["default_faults"] = False
    config["faults"] = [{"on": {"caller": "user-profile", "service": "telemetry"}, "inject": list(faults)}]
    return project.write("filibuster.json", config)


# The nested calls are the same after the effect.
@pairs.only("silence", ["timeout"])
@pytest.mark.parametrize("silence", ["timeout", "timeout:after"])
def test_netflix_has_a_nested_timeout_that_only_real_timeouts_find(project, silence):
    config = with_telemetry_faults(project, silence)
    fast = project.filibuster("run", "-c", config, env={"NETFLIX_BUGS": "1"})
    assert_silent(fast)
    real = project.filibuster("run", "-c", config, "--real-timeouts", env={"NETFLIX_BUGS": "1"})
    assert real.exit_code == 1 and faulted(real) == {"telemetry": {silence}}, real
    # The gateway gave up after its own second, and User Profile was still waiting.
    assert real.test["findings"][0]["first"]["seconds"] >= 1.0, real


def test_netflix_with_nested_timeouts_that_fit_is_silent_also_in_real_time(project):
    config = with_telemetry_faults(project, "timeout")
    outcome = project.filibuster("run", "-c", config, "--real-timeouts", env={"NETFLIX_PROFILE_TELEMETRY": "1"})
    assert_silent(outcome)
    assert outcome.test["seconds"]["total"] >= 0.5, outcome  # User Profile's timeout was waited for


@pytest.mark.parametrize("fault, executions", [("reset", 3), ("reset:after", 4)])
def test_a_service_that_is_contacted_before_the_failure_makes_its_own_calls(project, fault, executions):
    """Reference, Telemetry's fault, User Profile's fault; and if that lets the request through, both."""
    config = in_place(CORPUS / "netflix" / "filibuster.json")
    config["default_faults"] = False
    config["faults"] = [{"on": {"service": "user-profile"}, "inject": [fault]},
                        {"on": {"caller": "user-profile", "service": "telemetry"}, "inject": ["500"]}]
    outcome = project.filibuster("run", "-c", project.write("filibuster.json", config), "--no-reduction",
                                 env={"NETFLIX_PROFILE_TELEMETRY": "1"})
    assert outcome.exit_code == 0 and outcome.executed == executions, outcome
