"""Services that run already are explored without a restart, and are left as they were."""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.request

import pytest

from attach_fixtures import BASIC, need
from conftest import BUILD, CORPUS, PROGRAMS, PYTHON, free_port, wait_until
from corpus import fault_options, in_place
from processes import alive, events
from running import Session, held_by, loaded, run_already  # noqa: F401
from small_apps import APPS, config, probe, relay, url

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "grpc"))
from shop_app import make_stubs, shop  # noqa: E402

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module", autouse=True)
def kernel():
    need(*BASIC)


FEW = fault_options(["refused", "503"])
CINEMA = CORPUS / "cinema-1"


def cinema(bug=True):
    configuration = in_place(CINEMA / "filibuster.json")
    (users,) = [row for row in configuration["services"] if row["name"] == "users"]
    users["env"] |= {"PLANTED_BUG": "movie-timeout"} if bug else {}
    for test in configuration["tests"]:
        test["env"]["PYTHONPATH"] = str(CORPUS.parent / "cli" / "python")
    return configuration


def counts(run):
    return {key: run.test["counts"][key] for key in ("executed", "redundant")}


def found(run):
    """The verdict and the faults of each finding."""
    return [(finding["first"]["verdict"], [(fault["caller"], fault["service"], fault["path"], fault["fault"]) for fault in finding["faults"]])
            for finding in run.test["findings"]]


def get(port, path="/"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return answer.read()


def test_the_planted_bug_is_found_in_services_that_run_already_with_the_counts_of_preloaded_ones(project, run_already):
    project.write("filibuster.json", cinema())
    preloaded = project.filibuster("run")
    assert preloaded.exit_code == 1, preloaded
    running = run_already(cinema())
    project.write("filibuster.json", running.attached())
    attached = project.filibuster("run")
    assert attached.exit_code == 1, attached
    assert counts(attached) == counts(preloaded)
    assert found(attached) == found(preloaded) != []
    assert [row["service"] for row in attached.report["attached"]] == ["movies", "bookings", "users"]
    assert any("attached, not preloaded: movies" in note for note in attached.test["notes"])
    replay = project.filibuster("replay", attached.counterexamples[0])
    assert replay.exit_code == 1, replay
    assert running.unharmed


def test_a_pid_is_kept_as_its_port_so_that_a_replay_finds_the_service_after_a_restart(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back", options="--on-failure answer500")],
                                 [probe(url("front"), expected="200,503")]))
    attach = [f"{name}=pid:{process.pid}" for name, process in running.processes.items()]
    run = project.filibuster("attach", *attach, *FEW, "--", PROGRAMS / "probe", "200,503",
                             f"http://127.0.0.1:{running.ports['front']}/")
    assert run.exit_code == 1, run
    running.end()
    running.start()
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1, replay


def test_preloaded_attached_and_third_party_services_are_one_tree(project, run_already):
    whole = config([relay("mail"), relay("back", "mail"), relay("front", "back")], [probe(url("front"), expected="200,503")])
    running = run_already(whole, "mail", "back")
    mixed = running.attached("back")
    mixed["services"][0] = {"name": "mail", "third_party": True, "host": "127.0.0.1", "ports": {"mail": running.ports["mail"]}}
    project.write("filibuster.json", mixed)
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    tree = {(rpc["caller"], rpc["service"]): rpc for rpc in run.test["reference"]}
    assert set(tree) == {("test", "front"), ("front", "back"), ("back", "mail")}
    assert tree["back", "mail"]["parent"] == tree["front", "back"]["index"]
    assert tree["front", "back"]["parent"] == tree["test", "front"]["index"]


@pytest.mark.parametrize("front", ["node", "cpp", "go"])
def test_a_service_of_another_language_is_explored_while_it_runs(project, run_already, front):
    command = {"node": f"exec node {APPS}/node/get_front.js ${{port:front}} {url('back')}",
               "cpp": f"exec {PROGRAMS}/attached_front ${{port:front}} ${{port:back}}",
               "go": f"exec {BUILD}/tests/go/front ${{port:front}} {url('back')}"}[front]
    running = run_already(config([relay("back"), {"name": "front", "command": command}],
                                 [probe(url("front"), expected="200,503")]))
    project.write("filibuster.json", running.attached())
    run = project.filibuster("run", *fault_options(["refused", "reset", "503", "timeout"]))
    assert run.exit_code == 0, run
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "front"]
    assert len(calls) == 2 and all(rpc["cause"] != "none" for rpc in calls), calls
    assert all(rpc["received_by"] == "back" for rpc in calls), calls
    sites = [" ".join(rpc["stack"]) for rpc in calls]
    if front == "go":
        assert "firstCall" in sites[0] and "secondCall" in sites[1], sites
    if front == "cpp":
        assert "first_call" in sites[0] and "second_call" in sites[1], sites
    assert running.unharmed


def test_a_reference_execution_uses_no_connection_from_before(project, run_already):
    front = f"exec {BUILD}/tests/go/front ${{port:front}} {url('back')}"  # keeps two connections
    running = run_already(config([{"name": "back", "command": f"exec {PYTHON} {APPS}/kept.py ${{port:back}}"},
                                  {"name": "front", "command": front}], [probe(url("front"), expected="200,503")]))
    with concurrent.futures.ThreadPoolExecutor(8) as many:
        assert set(many.map(lambda _: get(running.ports["front"]), range(80))) == {b"ok\n"}
    project.write("filibuster.json", running.attached())
    run = project.filibuster("run", *FEW)
    assert run.exit_code == 0, run
    calls = [(rpc["caller"], rpc["path"]) for rpc in run.test["reference"]]
    assert calls == [("test", "/"), ("front", "/first"), ("front", "/second")], run
    assert any("were not seen, since they went over connections that were open before" in note for note in run.test["notes"]), run
    assert run.test["counts"]["abandoned"] == 0, run


def test_a_connection_from_before_that_has_no_polite_end_is_no_tested_dependency(project, run_already):
    running = run_already(config([
        {"name": "cache", "command": "exec redis-server --port ${port:cache} --bind 127.0.0.1 --save '' --appendonly no"},
        {"name": "front", "command": f"exec {PYTHON} {APPS}/kept_redis.py ${{port:front}} ${{port:cache}}"}], [probe(url("front"))]))
    assert get(running.ports["front"]) == b"None"
    configuration = running.attached("front")
    configuration["services"][0] = {"name": "cache", "third_party": True, "host": "127.0.0.1", "protocol": "redis",
                                    "ports": {"cache": running.ports["cache"]}}
    project.write("filibuster.json", configuration)
    run = project.filibuster("run")
    assert [rpc["service"] for rpc in run.test["reference"]] == ["front"], run
    (row,) = [row for row in run.test["dependencies_not_tested"] if row["service"] == "front"]
    assert (row["target_service"], row["peer"], row["reason"]) == ("cache", f"127.0.0.1:{running.ports['cache']}", "open-before"), row
    running.end()
    running.start()
    run = project.filibuster("run", *FEW, "--restart-session")
    assert [rpc["service"] for rpc in run.test["reference"]] == ["front", "cache"], run
    assert run.test["dependencies_not_tested"] == [], run


def test_grpc_services_that_run_already_have_the_findings_of_preloaded_ones(project, run_already):
    stubs = make_stubs(project.directory)
    configuration = shop(stubs, "--bug")
    project.write("filibuster.json", configuration)
    few = fault_options(["grpc:UNAVAILABLE", "grpc:INTERNAL"])
    preloaded = project.filibuster("run", *few)
    assert preloaded.exit_code == 1, preloaded
    running = run_already(configuration)
    (test,) = configuration["tests"]  # its services keep their channels, and are told to open others (GOAWAY)
    subprocess.run(["/bin/sh", "-c", running.with_ports(test["command"])], env={**os.environ, **test["env"]}, check=True, timeout=60)
    project.write("filibuster.json", running.attached())
    attached = project.filibuster("run", *few)
    assert attached.exit_code == 1, attached
    assert found(attached) == found(preloaded) != []
    assert counts(attached) == counts(preloaded)
    assert attached.test["dependencies_not_tested"] == preloaded.test["dependencies_not_tested"]
    assert running.unharmed


def test_a_static_go_program_is_attached_between_its_start_and_its_first_connection_on_each_lane(project):
    services = [relay("back"), {"name": "front", "interpose": "bpf",
                                "command": f"exec {BUILD}/tests/go/front ${{port:front}} {url('back')} --bug"}]
    project.write("filibuster.json", config(services, [probe(url("front"), expected="200,503")]))
    one = project.filibuster("run", *FEW)
    assert one.exit_code == 1, one
    assert not any("cannot be interposed" in line for line in one.errors.splitlines())
    assert {verdict for verdict, faults in found(one)} == {"crashed"}, found(one)
    two = project.filibuster("run", *FEW, "-j", "2", "--restart-session")
    assert (two.exit_code, counts(two)) == (1, counts(one)), two
    assert found(two) == found(one)


def test_a_go_program_that_a_shell_starts_is_known_by_its_own_calls(project):
    front = f"sleep 0.01; exec {BUILD}/tests/go/front ${{port:front}} {url('back')}"
    project.write("filibuster.json", config([relay("back"), {"name": "front", "interpose": "bpf", "command": front}],
                                            [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", *FEW)
    assert run.exit_code == 0, run
    sites = [" ".join(rpc["stack"]) for rpc in run.test["reference"] if rpc["caller"] == "front"]
    assert len(sites) == 2 and "firstCall" in sites[0] and "secondCall" in sites[1], sites


def test_ctrl_c_detaches_and_leaves_nothing_behind(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back")], []))
    hold = project.write("hold", "")
    configuration = running.attached()
    configuration["tests"] = [{"name": "held", "command": "while [ -e hold ]; do sleep 0.01; done"}]
    project.write("filibuster.json", configuration)
    process = project.start("run", "--json")
    states = [event["name"] for event in events_until(process, "service", 2)]
    assert states == ["back", "front"]
    session = Session(project)
    assert len(session.of("filibuster-bpf")) == 1 and len(session.of("filibuster-proxy")) == 2
    held = {kind: held_by(session.pids, kind) for kind in ("prog", "map", "link")}
    assert all(held.values()), held
    process.send_signal(signal.SIGINT)
    hold.unlink()
    assert process.wait(timeout=60) == 3
    wait_until(session.is_gone, "the loader and the proxies end")
    # The kernel frees them a little after their last descriptor is closed.
    wait_until(lambda: not any(held[kind] & loaded(kind) for kind in held), "what was loaded is gone")
    assert json.loads(get(running.ports["front"])) == {"failed": 0} and running.unharmed


def events_until(process, kind, number):
    out = []
    for event in events(process):
        out += [event] if event["type"] == kind else []
        if len(out) == number:
            return out
    raise AssertionError(process.stderr.read())


def test_services_are_attached_all_or_none(project, run_already):
    running = run_already(config([relay("back")], []))
    configuration = running.attached()
    nobody = free_port()
    configuration["services"].append({"name": "gone", "attach": {"port": nobody}})
    configuration["tests"] = [{"name": "test", "command": "true"}]
    project.write("filibuster.json", configuration)
    run = project.filibuster("run")
    assert run.exit_code == 3 and f"nobody listens at port {nobody}" in run.errors, run
    assert get(running.ports["back"]) and running.unharmed


def test_a_service_that_crashes_is_a_finding_and_says_that_it_was_attached(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back", options="--on-failure abort")],
                                 [probe(url("front"), expected="200,503")]))
    project.write("filibuster.json", running.attached())
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    first = finding["first"]
    assert first["verdict"] == "crashed" and "front (attached) ended" in first["detail"], finding


def test_the_loader_killed_ends_the_session_without_a_verdict_and_calls_go_direct(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back")], [probe(url("front"), expected="200,503")]))
    configuration = running.attached()
    hold = project.write("hold", "")
    configuration["tests"][0]["command"] = "while [ -e hold ]; do sleep 0.01; done; " + configuration["tests"][0]["command"]
    project.write("filibuster.json", configuration)
    process = project.start("run", "--json")
    events_until(process, "service", 2)
    session = Session(project)
    (loader,) = session.of("filibuster-bpf")
    os.kill(loader, signal.SIGKILL)
    wait_until(session.is_gone, "the proxies end")
    assert json.loads(get(running.ports["front"])) == {"failed": 0}
    hold.unlink()
    assert process.wait(timeout=60) == 3
    errors = [event["text"] for event in events(process) if event["type"] == "error"]
    assert len(errors) == 1 and "is attached no longer" in errors[0] and "loader" in errors[0], errors
    assert running.unharmed


def test_the_daemon_killed_leaves_nothing_behind(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back")], []))
    hold = project.write("hold", "")
    configuration = running.attached()
    configuration["tests"] = [{"name": "held", "command": "while [ -e hold ]; do sleep 0.01; done"}]
    project.write("filibuster.json", configuration)
    process = project.start("run", "--json")
    events_until(process, "service", 2)
    session = Session(project)
    held = {kind: held_by(session.pids, kind) for kind in ("prog", "map", "link")}
    assert len(session.pids) == 3 and all(held.values())
    os.kill(project.daemon()["pid"], signal.SIGKILL)
    assert process.wait(timeout=60) == 3
    wait_until(session.is_gone, "the loader and the proxies end")
    wait_until(lambda: not any(held[kind] & loaded(kind) for kind in held), "what was loaded is gone")
    hold.unlink()
    assert json.loads(get(running.ports["front"])) == {"failed": 0} and running.unharmed


def test_traces_and_lints_work_on_services_that_run_already(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back", "back")], []))
    attach = [word for name in running.processes for word in ("--attach", f"{name}=port:{running.ports[name]}")]
    test = ["--", PROGRAMS / "probe", "200,503", f"http://127.0.0.1:{running.ports['front']}/"]
    trace = project.filibuster("trace", *attach, *test)
    assert trace.exit_code == 0 and "- front -> back  GET /" in trace.output, trace
    lint = project.filibuster("lint", "--no-probes", *attach, *test)
    assert "redundant-rpc" in lint.output, lint
    assert running.unharmed


def test_following_shows_calls_until_it_is_ended(project, run_already):
    running = run_already(config([relay("back"), relay("front", "back")], []))
    attach = [word for name in running.processes for word in ("--attach", f"{name}=port:{running.ports[name]}")]
    process = project.start("trace", "--follow", "--json", *attach)
    events_until(process, "session", 1)
    assert json.loads(get(running.ports["front"])) == {"failed": 0}
    call = events_until(process, "rpc", 1)[0]["rpc"]
    assert (call["caller"], call["service"], call["path"]) in [("front", "back", "/"), ("", "front", "/")]
    (table,) = events_until(process, "calls", 1)
    rows = {(row["caller"], row["service"]): row for row in table["calls"]}
    assert rows["front", "back"]["count"] == 1 and rows["front", "back"]["p50_ms"] > 0
    process.send_signal(signal.SIGINT)
    done = events_until(process, "done", 1)[0]
    assert process.wait(timeout=60) == 0 and done["exit_code"] == 0
    assert "front -> back" in done["summary"] and running.unharmed
