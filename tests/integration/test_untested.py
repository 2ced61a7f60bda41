"""What 'no failure found' is worth: which RPCs were tested, which were not, and what the exit code says of it."""
from small_apps import config, pair, probe, relay, url


def beating(**members):
    """front -> back, and a thread of front that calls back by itself: its calls have no cause."""
    return config([relay("back"), relay("front", "back", options=f"--heartbeat '{url('back', '/beat')}'")],
                  [probe(url("front"), expected="200,503")], **members)


def last_line(run):
    return run.output.rstrip().splitlines()[-1]


def test_everything_tested_is_said_in_the_last_line(project):
    project.write("filibuster.json", pair())
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested", run
    assert run.test["rpcs"] == {"tested": ["front -> back GET /"], "untested": [], "by_configuration": []}


def test_an_rpc_that_could_not_be_tested_is_no_pass(project):
    project.write("filibuster.json", beating())
    run = project.filibuster("run", "--junit", "out.xml")
    assert run.exit_code == 3 and not run.test["findings"], run
    junit = (project.directory / "out.xml").read_text()
    assert 'errors="0"' in junit and 'message="its cause is not known"' in junit, junit
    assert last_line(run) == "1 RPC tested, 1 not (its cause is not known); --allow-untested accepts that", run
    assert "no failure found, 1 RPC NOT TESTED" in run.output, run
    assert run.test["rpcs"]["untested"] == [{"rpc": "front -> back GET /beat", "reason": "its cause is not known"}], run
    allowed = project.filibuster("run", "--allow-untested")
    assert allowed.exit_code == 0 and last_line(allowed) == "1 RPC tested, 1 not (its cause is not known)", allowed


def test_what_the_configuration_leaves_out_is_a_pass(project):
    project.write("filibuster.json", beating(faults=[{"on": {"path": "/beat"}, "inject": []}, {"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested, 1 left out by the configuration", run


def test_what_a_bound_leaves_out_is_a_pass_and_called_so(project):
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("front", "a", "b")], [probe(url("front"), expected="200,503")],
        faults=[{"inject": "503"}], bounds={"max_executions": 2}))
    run = project.filibuster("run", "--junit", "out.xml")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested, 1 not reached within the time or the bounds", run
    assert "2 executions: bound max_executions 2" in run.output, run
    assert 'message="not reached within the time or the bounds"' in (project.directory / "out.xml").read_text()


def test_timeouts_are_told_by_how_they_ended(project):
    project.write("filibuster.json", pair("--timeout 0.3", faults=[{"inject": "timeout"}]))
    (fast,) = project.filibuster("run").test["timeouts"]
    assert (fast["caller"], fast["service"], fast["waited"]) == ("front", "back", 0) and fast["elapsed"] > 0, fast
    real = project.filibuster("run", "--real-timeouts")
    (waited,) = real.test["timeouts"]
    assert waited["elapsed"] == 0 and waited["waited"] == fast["elapsed"] and waited["longest"] > 0, waited
