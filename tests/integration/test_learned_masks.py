"""What varies only under faults is learned while the search goes on: its RPCs are faulted like all others. What stays
without a conclusion is told by its cause."""
import json
import signal

import pytest

from conftest import PYTHON
from small_apps import APPS, config, held, probe, relay, url

ON = {"caller": "gateway", "service": "telemetry", "method": "POST", "path": "/report"}


def gateway(*calls, report=None, body="time", fallback=None, **members):
    options = "".join(f" --call {url(name)}" for name in calls)
    options += f" --report {url(report, '/report')} --body {body}" if report else ""
    options += f" --fallback {url(fallback)}" if fallback else ""
    return {"name": "gateway", "command": f"exec {PYTHON} {APPS}/reporter.py ${{port:gateway}}{options}", **members}


def application(body, expected="200,503,500", test=None, **members):
    return config([relay("a"), relay("b"), relay("telemetry"), gateway("a", "b", report="telemetry", body=body)],
                  [test or probe(url("gateway"), expected=expected)], **members)


def explore(project, *arguments, exit_code=0, **members):
    project.write("filibuster.json", application(*arguments, **members))
    run = project.filibuster("run", "--fault", "503")
    assert run.exit_code == exit_code, run
    return run


def learned(run):
    return [row for row in run.test["nondeterminism"]["varied"] if row["under"]]


def failing_sets(run):
    return sorted(sorted((fault["service"], fault["fault"]) for fault in finding["faults"])
                  for finding in run.test["findings"])


@pytest.mark.parametrize("body", ["time", "count"])
def test_what_varies_only_under_faults_is_masked(project, body):
    run = explore(project, body)
    assert run.test["finished"] and run.test["skipped"] == run.test["without_cause"] == [], run
    # Only what drifted: which calls had failed is for the faults to say, and tells RPCs apart.
    rules = run.test["nondeterminism"]["proposed"]
    assert rules == [{"on": ON, "mask": {"json": ["/at"]}}], run
    (row,) = learned(run)
    assert (row["what"], row["effect"]) == ("JSON field /at", "masked") and "status:503" in row["under"], run
    assert "1 value varies from run to run" in run.output, run
    # As many executions as where the rule is known from the start.
    executed = run.executed
    again = explore(project, body, nondeterminism=rules)
    assert again.executed == executed and learned(again) == [], again


def test_a_bug_behind_it_is_found_and_replayed(project):
    run = explore(project, "time", "200,503", exit_code=1)
    # What it says after both had failed is another RPC than after one of them.
    a, b, report = [(service, "status:503") for service in ("a", "b", "telemetry")]
    assert failing_sets(run) == [[a, b, report], [a, report], [b, report]], run
    for finding in run.test["findings"]:
        assert finding["reproduced"] is True, run
        replay = project.filibuster("replay", finding["counterexample"])
        assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_what_no_mask_covers_is_listed_and_not_planned_in_vain(project):
    run = explore(project, "text", exit_code=3)
    assert run.test["counts"]["abandoned"] == 0 and run.test["skipped"] == [], run
    (left_out,) = run.test["without_cause"]
    assert left_out.startswith("gateway -> telemetry POST /report: the body"), run
    assert [row["effect"] for row in learned(run)] == ["not faulted"], run


def test_a_session_resumes_with_what_it_learned(project):
    (project.directory / "hold").touch()
    project.write("filibuster.json", application("time", test=probe(url("gateway"), expected="200,503,500")))
    whole = project.filibuster("run", "--fault", "503", "--json")
    last = max(event["number"] for event in map(json.loads, whole.output.splitlines()) if event["type"] == "execution")
    executed, varied = whole.executed, whole.test["nondeterminism"]["varied"]
    # What is held comes after what was learned, and before the end.
    project.write("filibuster.json", application("time", test=held(probe(url("gateway"), expected="200,503,500"), last - 1)))
    started = project.start("run", "--fault", "503", "--json")
    warned = interrupted = False
    for line in started.stdout:
        event = json.loads(line)
        warned = warned or (event["type"] == "warning" and "no part in telling calls apart" in event["text"])
        if warned and event["type"] == "execution":
            started.send_signal(signal.SIGINT)
            interrupted = True
            break
    started.communicate()
    assert interrupted and started.returncode == 3
    (project.directory / "hold").unlink()
    run = project.filibuster("run", "--fault", "503")
    assert run.exit_code == 0 and run.test["finished"], run
    assert (run.executed, run.test["nondeterminism"]["varied"]) == (executed, varied), run


def remembering(**members):
    """A count in memory decides whether a service is called."""
    return config([relay("a"), relay("b"), gateway("a", fallback="b", **members)],
                  [probe(url("gateway"), expected="200,503,500")])


def test_state_in_a_service_is_told_in_one_line(project):
    project.write("filibuster.json", remembering())
    run = project.filibuster("run", "--fault", "503", "--fault", "500", "--fault", "502")
    # No pass, although nothing was found in what was concluded beside it.
    assert run.exit_code == 3 and run.executed > 1 and run.test["findings"] == [], run
    assert f"{run.test['counts']['abandoned']} WITHOUT A CONCLUSION" in run.output, run
    (row,) = run.test["unexplained"]
    assert row["cause"] == "state in a service" and row["executions"] == run.test["counts"]["abandoned"], run
    (line,) = [line for line in run.output.splitlines() if '"restart": "each"' in line]
    assert "state" in line and str(row["executions"]) in line, run
    assert not any(line.strip().startswith("execution {") for line in run.output.splitlines()), run


def test_a_fresh_start_for_each_execution_helps_against_it(project):
    project.write("filibuster.json", remembering(restart="each"))
    run = project.filibuster("run", "--fault", "503")
    assert run.exit_code == 0 and run.test["finished"] and run.test["unexplained"] == [], run
