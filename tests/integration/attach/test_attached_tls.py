"""Attached programs that speak TLS to what they call: an unmodified client in Go, static, and one in Python that runs already."""
import pytest

import certificates
from attach_fixtures import BASIC, need, skip
from conftest import BUILD, PYTHON
from running import run_already  # noqa: F401
from small_apps import APPS, config, probe, relay, url

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module", autouse=True)
def kernel():
    need(*BASIC)


def https(name):
    return f"https://localhost:${{port:{name}}}/"


def faults(run):
    return [(fault["caller"], fault["service"], fault["method"], fault["fault"]) for finding in run.test["findings"] for fault in finding["faults"]]


def go_application(tls, bug=""):
    if not (BUILD / "tests" / "go" / "front").exists():
        skip("Go over TLS", "golang is missing: apt-get install golang-go")
    return [relay("back", options=f"--tls {tls}"),
            {"name": "front", "interpose": "bpf", "env": certificates.trusted(tls), "restart": "each",
             "command": f"exec {BUILD}/tests/go/front ${{port:front}} {https('back')} {bug}"}]


def test_go_over_tls_gets_the_faults_that_need_no_key(project, tls):
    project.write("filibuster.json", config(go_application(tls), [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.test["finished"] and "plan not met" not in run.output, run
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "front"]
    assert [(call["service"], call["method"], call["path"], call["protocol"], call["cause"]) for call in calls] == \
        [("back", "GET", path, "tls", "task") for path in ("/first", "/second")], calls
    # The goroutine that asks is the call site.
    for call, site in zip(calls, ("firstCall", "secondCall"), strict=True):
        assert site in " ".join(call["stack"]), call


def test_a_bug_of_a_go_program_behind_tls_is_found_and_replays(project, tls):
    project.write("filibuster.json", config(go_application(tls), [probe(url("front"))], bounds={"max_faults": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    # Of the second request, which goes over a kept connection, net/http repeats what was reset. If its repetition is reset, too, the test fails: that
    # is one execution, which the bound on faults does not hold back.
    assert sorted(faults(run)) == [("front", "back", "GET", fault) for fault in ("refused", "reset", "reset", "reset", "timeout", "timeout")], run
    again = project.filibuster("replay", str(run.root / "counterexamples" / "1.json"))
    assert again.exit_code == 1, again


def test_a_program_in_python_that_runs_already_is_attached_and_its_tls_gets_faults(project, tls, run_already):
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    running = run_already(config([relay("back", options=f"--tls {tls}"), {
        "name": "front", "command": f"exec env {trust} {PYTHON} {APPS}/relay.py ${{port:front}} --call {https('back')}"}],
        [probe(url("front"))]))
    configuration = running.attached("front", by="pid")
    configuration["services"] = [row for row in configuration["services"] if row["name"] == "front"] + [
        {"name": "back", "third_party": True, "host": "127.0.0.1", "ports": {"back": running.ports["back"]}}]
    project.write("filibuster.json", configuration)
    run = project.filibuster("run")
    assert run.exit_code == 1 and running.unharmed, run
    assert sorted(faults(run)) == [("front", "back", "TLS", fault) for fault in ("refused", "reset", "timeout")], run
    again = project.filibuster("replay", str(run.root / "counterexamples" / "1.json"))
    assert again.exit_code == 1, again
