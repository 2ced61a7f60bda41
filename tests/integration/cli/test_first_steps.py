"""What a new user does first: other names for the same thing, mistakes in a configuration, output that goes nowhere."""
import json
import shlex
import subprocess

import pytest

from conftest import BUILD, FILIBUSTER, free_port
from small_apps import RELAY, config, pair, probe, relay, url


def failing():
    """front answers 500 where back fails: two findings."""
    return config([relay("back"), relay("front", "back", options="--on-failure answer500")], [probe(url("front"), expected="200")],
                  faults=[{"on": {"caller": "front"}, "inject": ["503", "reset"]}], baseline="accepted.json")


@pytest.mark.parametrize("closed", [">&- 2>&-", "<&- >&- 2>&-", "<&-"])
def test_output_that_nobody_reads_goes_nowhere(project, closed):
    project.write("filibuster.json", failing())
    command = f"exec {shlex.quote(str(FILIBUSTER))} run --root {shlex.quote(str(project.root))} {closed}"
    run = subprocess.run(["sh", "-c", command], cwd=project.directory, timeout=120, capture_output=True, text=True)
    assert run.returncode == 1, run
    report = json.loads((project.root / "report.json").read_text())
    assert report["exit_code"] == 1 and len(report["tests"][0]["findings"]) == 2, report


def test_replay_and_accept_take_the_same_names(project):
    project.write("filibuster.json", failing())
    findings = project.filibuster("run").test["findings"]
    assert len(findings) == 2, findings
    for finding in findings:
        names = [str(finding["number"]), finding["id"], finding["counterexample"]]
        accepted = [project.filibuster("accept", name, "--because", "known", "--until", "2999-12-31") for name in names]
        assert all(run.exit_code == 0 and finding["id"] in run.output for run in accepted), accepted
    replays = [project.filibuster("replay", name) for name in names]
    assert all(run.exit_code == 1 and finding["faults"][0]["fault"] in run.output for run in replays), replays
    for name, said in [("99", "there is no finding '99'"), ("no/such.json", "there is no file no/such.json")]:
        run = project.filibuster("replay", name)
        assert run.exit_code == 2 and said in run.errors, run


def test_help_is_a_verb(project):
    def said(*words):
        run = subprocess.run([str(FILIBUSTER), *words], capture_output=True, text=True, timeout=30)
        return run.returncode, run.stdout

    assert said("help") == said("--help") and said("help")[0] == 0
    assert said("help", "run") == said("run", "--help") and "--max-time" in said("help", "run")[1]
    assert said("help", "nothing")[0] == 2


@pytest.mark.skipif(not (BUILD / "lib/filibuster/report.html").exists(), reason="NOT CHECKED, the live page: it was not built (no npm)")
def test_the_live_page_is_named_in_json_too(project):
    project.write("filibuster.json", pair(faults=[{"inject": "503"}]))
    run = project.filibuster("run", "--json")
    first = json.loads(run.output.splitlines()[0])
    assert first["type"] == "live" and first["address"].startswith("http://127.0.0.1:") and "#token=" in first["address"], run


def elsewhere(timeout, port):
    """A service that listens at another port than the one that is waited for."""
    return config([{"name": "shop", "command": f"exec {RELAY} {port}", "ports": ["shop"], "ready": {"tcp": True, "timeout": timeout}}],
                  [probe(url("shop"))])


def test_a_service_that_listens_elsewhere_is_named_with_its_port(project):
    port = free_port()
    project.write("filibuster.json", elsewhere("500ms", port))
    run = project.filibuster("run")
    assert run.exit_code == 3 and f"; it listens at port {port})" in run.errors, run


@pytest.mark.whole
def test_it_is_named_while_it_is_waited_for(project):
    """Five seconds are the point."""
    project.write("filibuster.json", elsewhere("7s", free_port()))
    run = project.filibuster("run")
    assert "warning: service 'shop' is waited for at port" in run.errors and "; it listens at port" in run.errors, run


def test_a_port_without_a_name_gets_an_example(project):
    project.write("filibuster.json", {"version": 1, "services": [{"name": "shop", "command": "x", "ports": [8080]}], "tests": []})
    run = project.filibuster("run")
    assert run.exit_code == 2 and '{"shop": 8080}' in run.errors, run
