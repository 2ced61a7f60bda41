"""The command line against a scripted daemon: what it asks, what it shows, how it leaves."""
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess

import urllib.parse

import pytest
from conftest import BUILD, REPOSITORY, wait_until

HERE = pathlib.Path(__file__).resolve().parent


class Cli:
    """A copy of the program beside a daemon that follows a script."""

    def __init__(self, directory):
        self.directory = directory
        binaries = directory / "bin"
        binaries.mkdir()
        shutil.copy(BUILD / "bin/filibuster", binaries)
        shutil.copy(HERE / "fake_filibusterd.py", binaries / "filibusterd")
        os.chmod(binaries / "filibusterd", 0o755)
        self.script({})

    def script(self, script):
        (self.directory / "script.json").write_text(json.dumps(script))

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [str(self.directory / "bin/filibuster"), *arguments], cwd=self.directory, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "FAKE_DAEMON": str(self.directory / "script.json"), **environment})

    def run(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        process.out, process.err = process.communicate(timeout=30)
        return process

    def requests(self):
        text = (self.directory / ".filibuster/requests.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def session(self):
        return next(body for method, path, body in self.requests()
                    if method == "POST" and path == "/v1/sessions")

    def address(self):
        return json.loads((self.directory / ".filibuster/daemon.json").read_text())


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


def test_a_session_made_of_options_shows_findings_and_leaves_with_the_daemons_code(cli):
    cli.script({"exit_code": 1, "events": [
        {"n": 0, "type": "session", "test": "true", "resumed": False},
        {"n": 1, "type": "finding", "test": "true", "number": 1,
         "headline": "users refused", "text": "FINDING 1: ..."},
        {"n": 2, "type": "done", "exit_code": 1, "summary": "1 failure", "report": "r.json"}]})
    run = cli.run("run", "--service", "users=./users --port ${port:users}", "--service", "mail",
                  "--third-party", "pay=pay.example.com:443", "--max-faults", "2", "--no-reduction",
                  "--index-without", "stack", "--fault", "503", "--", "true", "--verbose")
    assert (run.returncode, run.out) == (1, "1 failure\n"), run.err
    assert "finding 1: users refused\n" in run.err
    request = cli.session()
    assert request["mode"] == "run"
    assert request["directory"] == str(cli.directory)
    assert request["overrides"] == {"reduce": "off", "max_faults": 2, "index": {"stack": False}}
    assert json.loads(request["config_text"]) == {
        "version": 1,
        "services": [{"name": "users", "command": "./users --port ${port:users}"}, {"name": "mail"},
                     {"name": "pay", "third_party": True, "host": "pay.example.com",
                      "ports": {"pay": 443}}],
        "tests": [{"name": "true", "command": ["true", "--verbose"]}],
        "faults": [{"on": {}, "inject": ["503"]}]}
    assert not (cli.directory / ".filibuster/daemon.json").exists(), "its own daemon was left running"


def test_the_file_of_this_directory_is_sent_as_it_is(cli):
    (cli.directory / "filibuster.json").write_text('{"version": 1, // ')
    cli.script({"create": [400, {"errors": [
        {"file": "filibuster.json", "line": 1, "column": 16, "message": "JSON has no comments"}]}]})
    run = cli.run("run")
    assert (run.returncode, run.err) == (2, "filibuster.json:1:16: JSON has no comments\n")
    assert cli.session()["config_text"] == '{"version": 1, // '
    assert cli.session()["config_path"] == "filibuster.json"


@pytest.mark.parametrize("arguments, expected", [
    (["run"], "there is no filibuster.json"),
    (["run", "-c", "absent.json"], "absent.json: No such file"),
    (["run", "--service", "users=./users"], "the test is missing"),
    (["run", "--frobnicate"], "--frobnicate"),
    (["run", "--index-without", "colour"], "colour"),
    (["run", "--max-faults", "-1"], "--max-faults: Value -1 not in range"),
    (["run", "--max-executions", "-1"], "--max-executions: Value -1 not in range"),
    (["analyze", "--proto", "nope.proto"], "nope.proto: No such file or directory"),
    (["analyze", "--openapi", "users=nope.yaml"], "nope.yaml: No such file or directory"),
    (["run", "--third-party", "pay=there", "--", "true"], "expected NAME=HOST:PORT"),
    (["replay"], "FINDING is required"),
    (["replay", "bin/filibusterd"], "bin/filibusterd:1:1: not valid JSON; expected a counterexample"),
    (["replay", "absent.json"], "there is no file absent.json, and no report of a run in .filibuster (expected the number or the id of a finding"),
    (["replay", "script.json"], "script.json: not a counterexample; expected a file that a run wrote"),
    (["replay", "x", "--", "true"], "takes no command"),
    ([], "subcommand is required"),
    (["foo"], "there is no subcommand 'foo'; expected run, suite, principled, property, verify, attach, replay"),
    (["foo", "--help"], "there is no subcommand 'foo'"),
    (["foo", "--", "true"], "there is no subcommand 'foo'"),
    (["rnu", "--help"], "there is no subcommand 'rnu'; did you mean 'run'?"),
])
def test_errors_of_usage_are_named_and_exit_2(cli, arguments, expected):
    run = cli.run(*arguments)
    assert run.returncode == 2 and expected in run.err and run.out == ""
    assert not (cli.directory / ".filibuster").exists()


def test_what_the_daemon_refuses_of_a_counterexample_is_said_with_its_file(cli):
    (cli.directory / "3.json").write_text('{"version": 1, "test": "t", "faults": 5}')
    cli.script({"create": [400, {"errors": [
        {"file": "", "line": 0, "column": 0, "message": "counterexample: faults: expected a list"}]}]})
    run = cli.run("replay", "3.json")
    assert (run.returncode, run.err) == (2, "3.json: counterexample: faults: expected a list\n")


def test_a_file_that_is_not_utf8_is_named_with_its_position(cli):
    (cli.directory / "filibuster.json").write_bytes(b'{\n "\xff"}')
    run = cli.run("run")
    assert run.returncode == 2 and run.err.startswith("filibuster: filibuster.json:2:3: the file is not UTF-8")


def test_a_daemon_that_does_not_start_says_why(cli):
    cli.script({"refuse_start": "the disk is full"})
    run = cli.run("run", "--", "true")
    assert run.returncode == 3 and "the disk is full" in run.err


def test_a_daemon_that_is_killed_ends_the_run_with_a_way_to_go_on(cli):
    cli.script({"hold": True, "events": [{"n": 0, "type": "session", "test": "t"}]})
    process = cli.start("run", "--", "true")
    assert "exploring 't'" in process.stderr.readline()
    pid = cli.address()["pid"]
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert f"daemon ended (pid {pid}); run the same command again to continue" in err


@pytest.mark.parametrize("found, code", [(0, 3), (1, 1)])
def test_an_interrupt_stops_the_session_in_order(cli, found, code):
    cli.script({"hold": True, "exit_code": found, "events": [{"n": 0, "type": "session", "test": "t"}]})
    process = cli.start("run", "--", "true")
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "run the same command again to continue" in err
    assert ["POST", "/v1/sessions/7/stop", {}] in cli.requests()
    assert not (cli.directory / ".filibuster/daemon.json").exists()


def test_a_running_daemon_is_joined_and_left_running(cli):
    daemon = cli.start("daemon")
    try:
        wait_until(lambda: (cli.directory / ".filibuster/daemon.json").exists(), "the daemon serves")
        pid = cli.address()["pid"]
        assert pid == daemon.pid
        assert cli.run("run", "--", "true").returncode == 0
        assert daemon.poll() is None and cli.address()["pid"] == pid
    finally:
        daemon.kill()
        daemon.communicate()


def test_a_daemon_in_the_foreground_says_where_it_is_and_how_to_join(cli):
    daemon = cli.start("daemon")
    try:
        lines = [daemon.stdout.readline() for _ in range(5)]
        root = cli.directory / ".filibuster"
        assert lines[0] == f"daemon at {cli.address()['url']} (pid {daemon.pid}), root {root}\n"
        assert "LD_PRELOAD=" in lines[3] and "libfilibuster.so FILIBUSTER_SERVICE=users" in lines[3]
        assert f"filibuster run --root {root} --service users -- " in lines[4]
    finally:
        daemon.kill()
        daemon.communicate()


@pytest.mark.parametrize("verb", [["run", "--", "true"], ["daemon"]])
def test_a_root_that_cannot_be_made_is_named_with_a_way_out(cli, verb):
    (cli.directory / ".filibuster").write_text("a file")
    run = cli.run(*verb)
    assert run.returncode == 3
    assert f"{cli.directory}/.filibuster: " in run.err and "--root DIR" in run.err


def test_a_service_that_no_rpc_names_is_not_passed_over(cli):
    cli.script({"report": {"tests": [{"reference": [
        {"caller": "test", "service": "users", "received_by": "users"}]}]}})
    run = cli.run("trace", "--service", "users", "--service", "nosuch", "--service", "idle=./idle",
                  "--", "true")
    assert run.returncode == 0 and "'users'" not in run.err
    assert "no RPC from or to service 'nosuch' was seen: start it with LD_PRELOAD=" in run.err
    assert "no RPC from or to service 'idle' was seen\n" in run.err


def test_json_lines_are_the_daemons_events(cli):
    events = [{"n": 0, "type": "session", "test": "t"}, {"n": 1, "type": "done", "exit_code": 0,
                                                          "summary": "nothing found"}]
    cli.script({"events": events})
    run = cli.run("run", "--json", "--", "true")
    assert [json.loads(line) for line in run.out.splitlines()] == events
    assert (run.returncode, run.err) == (0, "")


def test_predicates_answer_by_exit_status(cli):
    daemon = cli.start("daemon")
    try:
        wait_until(lambda: (cli.directory / ".filibuster/daemon.json").exists(), "the daemon serves")
        address = cli.address()
        under = {"FILIBUSTER_URL": address["url"], "FILIBUSTER_TOKEN": address["token"]}
        ask = lambda *arguments, **env: cli.run("was-fault-injected", *arguments, **env).returncode
        assert ask("--service", "bookings", "--path", "/a b&c", **under) == 0
        assert ask("--service", "users", **under) == 1
        assert ask("--service", "users") == 3
        assert ask("--grpc", "shop.CartService/GetCart", "--service", "bookings", **under) == 0
        assert ["GET", "/v1/fault-injected?service=bookings&grpc=shop.CartService%2FGetCart", None] in cli.requests()
        ask("--service", "users", "--argument", "cart.id=c1", "--argument", "code=DAILY", **under)
        arguments = urllib.parse.quote('{"cart":{"id":"c1"},"code":"DAILY"}')
        assert ["GET", f"/v1/fault-injected?service=users&arguments={arguments}", None] in cli.requests()
        assert cli.run("was-fault-injected", "--argument", "code", **under).returncode == 2
        assert cli.run("was-fault-injected", "--argument", "a=1", "--argument", "a.b=1", **under).returncode == 2
        refused = cli.run("was-fault-injected", "--fault", "refuse", **under)
        assert (refused.returncode, refused.err) == (2, "filibuster: 'refuse' is not a fault\n")
        assert ask("--service", "users", **{**under, "FILIBUSTER_TOKEN": "wrong"}) == 3
        assert ["GET", "/v1/fault-injected?service=bookings&path=%2Fa%20b%26c", None] in cli.requests()

        spec = importlib.util.spec_from_file_location(
            "predicates", REPOSITORY / "cli/python/filibuster_predicates.py")
        predicates = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(predicates)
        assert predicates.was_fault_injected("bookings") is False  # not under filibuster
        os.environ.update(under)
        try:
            assert predicates.was_fault_injected("bookings") is True
            assert predicates.was_fault_injected(service="users", path="/x") is False
            assert predicates.was_fault_injected(grpc="a.B/C", service="bookings") is True
            with pytest.raises(RuntimeError, match="'refuse' is not a fault"):
                predicates.was_fault_injected(fault="refuse")
        finally:
            for name in under:
                del os.environ[name]
    finally:
        daemon.kill()
        daemon.communicate()


def test_every_verb_explains_itself_with_an_example(cli):
    for verb in ("run", "replay", "trace", "record", "verify", "cases", "lint", "was-fault-injected", "doctor", "daemon"):
        run = cli.run(verb, "--help")
        assert run.returncode == 0 and "Examples:" in run.out, verb
    assert cli.run("--version").out == cli.run("version").out


@pytest.mark.parametrize("verb, usage", [
    ("run", "filibuster run [OPTIONS] [-- TEST [ARG...]]"),
    ("trace", "filibuster trace [OPTIONS] [-- TEST [ARG...]]"),
    ("record", "filibuster record [OPTIONS] [-- TRAFFIC [ARG...]]"),
    ("doctor", "filibuster doctor [OPTIONS] [-- PROGRAM]"),
    ("replay", "filibuster replay [OPTIONS] FINDING"),
])
def test_the_usage_of_a_verb_shows_what_stands_after_the_dashes(cli, verb, usage):
    assert f"Usage: {usage}\n" in cli.run(verb, "--help").out


def test_doctor_knows_what_can_be_interposed(cli):
    assert cli.run("doctor", "--", "/usr/bin/python3").returncode == 0
    script = cli.directory / "script.py"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o755)
    run = cli.run("doctor", "--", "./script.py")
    assert run.returncode == 0 and "is a script of python3" in run.out
    source = cli.directory / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-o", cli.directory / "static", source], check=True)
    run = cli.run("doctor", "--", "./static")
    assert run.returncode == 1 and "statically linked" in run.out
    assert cli.run("doctor", "--", "./absent").returncode == 2


def test_doctor_says_why_a_setuid_program_can_or_cannot_be_interposed(cli):
    program = cli.directory / "privileged"
    shutil.copy("/usr/bin/true", program)
    program.chmod(0o4755)
    run = cli.run("doctor", "--", "./privileged")
    assert run.returncode == 0
    assert f"is setuid to {os.getuid()}, which you are already" in run.out
    if os.getuid() == 0:
        os.chown(program, 1, 1)
        program.chmod(0o4755)
        run = cli.run("doctor", "--", "./privileged")
        assert run.returncode == 1 and "setuid" in run.out and "LD_PRELOAD" in run.out
