"""Real clients and servers under the preload, under the torture library, and under both: the bytes are
exact, and a descriptor or fork game goes on as without us. Without a session, inside one, and with
every kind of fault."""
import contextlib
import itertools
import json
import os
import re
import subprocess

import pytest

import pairs
from conftest import BUILD, FILIBUSTER, PRELOAD, PROGRAMS

TORTURE = BUILD / "lib" / "libtorture.so"
PRELOADS = {"preload": [PRELOAD], "torture": [TORTURE], "both": [PRELOAD, TORTURE]}
SERVERS = ["threads", "epoll", "prefork"]
CLIENTS = ["one-write", "two-writes", "bytes", "writev", "sendmsg", "sendfile", "pipelined",
           "keep-alive", "chunked", "expect-continue", "epoll", "half-close"]
FD_GAMES = ["close-all", "close-range", "closefrom", "dup2-over", "daemonize", "database"]
FORK_GAMES = ["fork", "vfork", "spawn", "exec"]
OUTCOMES = {"refused": "refused", "reset": "reset", "reset:after": "reset", "timeout": "timeout",
            "timeout:after": "timeout", "status:503": "status 503", "status:503:after": "status 503"}


def preloaded(preloads, nowhere):
    return os.environ | {"LD_PRELOAD": ":".join(map(str, preloads)), "TORTURE_SEED": "7",
                         "FILIBUSTER_DAEMON": f"unix:{nowhere}/agent.sock"}


@contextlib.contextmanager
def echo_server(mode, environment):
    server = subprocess.Popen([PROGRAMS / "http_echo_server", mode, "0"], env=environment,
                              stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"listening on (\d+)", server.stdout.readline()).group(1)
    finally:
        server.terminate()
        server.wait()


def run(*command, environment):
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_every_reader_of_a_faulted_connection_sees_the_fault():
    result = subprocess.run([BUILD / "tests" / "inject_probe"], capture_output=True, text=True,
                            timeout=120)
    assert result.returncode == 0, "\n".join(
        line for line in result.stdout.splitlines() if not line.startswith("ok"))


# Each server stays once, and each set of libraries.
@pairs.each("server, under", [("threads", "preload"), ("epoll", "both"), ("prefork", "torture")])
@pytest.mark.parametrize("server,under", itertools.product(SERVERS, PRELOADS))
def test_bytes_are_exact_without_a_session(server, under, tmp_path):
    environment = preloaded(PRELOADS[under], tmp_path)
    with echo_server(server, environment) as port:
        for client in CLIENTS:
            run(PROGRAMS / "http_client", client, port, "20", environment=environment)


# With the two libraries there is everything that one of them does.
@pairs.only("under", ["both"])
@pytest.mark.parametrize("under", ["preload", "both"])
def test_games_with_descriptors_and_children_go_on(under, tmp_path):
    environment = preloaded(PRELOADS[under], tmp_path)
    with echo_server("threads", environment) as port:
        for program, games in (("fd_games", FD_GAMES), ("fork_games", FORK_GAMES)):
            for game in games:
                run(PROGRAMS / program, game, port, environment=environment)


def explore(directory, command, server="threads", verb="run", faults=()):
    """Runs filibuster on the echo server and `command` as the test; returns its output."""
    (directory / "filibuster.json").write_text(json.dumps({
        "version": 1, "fault_test_calls": True, "default_faults": False,
        "services": [{"name": "echo",
                      "command": f"exec {PROGRAMS}/http_echo_server {server} ${{port:echo}}"}],
        "tests": [{"name": "client", "command": command}],
        "bounds": {"reference_executions": 1},
        "faults": [{"on": {"service": "echo"}, "inject": list(faults)}]}))
    result = subprocess.run([FILIBUSTER, verb, "-c", "filibuster.json"], cwd=directory,
                            capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


# Each server stays once, and each library.
@pairs.each("server, torture", [("threads", "torture"), ("epoll", ""), ("prefork", "torture")])
@pytest.mark.parametrize("server,torture", itertools.product(SERVERS, ["", "torture"]))
def test_bytes_are_exact_inside_a_session(server, torture, tmp_path):
    """The echo holds our one header field and nothing else that was not sent."""
    besides = f":{TORTURE}" if torture else ""
    (tmp_path / "clients").write_text(
        f'export LD_PRELOAD="$LD_PRELOAD{besides}"\n' +
        "".join(f"{PROGRAMS}/http_client {client} $PORT_ECHO 20 || exit 1\n" for client in CLIENTS))
    explore(tmp_path, "sh clients", server, "trace")


# The same games are played without a session, in one and beside one in torture/test_host.py.
@pytest.mark.whole
@pytest.mark.parametrize("game", FD_GAMES + FORK_GAMES)
def test_games_go_on_inside_a_session(game, tmp_path):
    program = "fd_games" if game in FD_GAMES else "fork_games"
    explore(tmp_path, f"{PROGRAMS}/{program} {game} $PORT_ECHO", verb="trace")


@pytest.mark.parametrize("client", [c for c in CLIENTS if c not in ("pipelined", "keep-alive")])
def test_a_client_sees_each_kind_of_fault_however_it_sends(client, tmp_path):
    """One execution for each fault and one without; the client writes down what it saw."""
    seen = tmp_path / "seen"
    output = explore(tmp_path, f"{PROGRAMS}/http_client {client} $PORT_ECHO 1 >> {seen}; exit 0",
                     faults=OUTCOMES)
    outcomes = [line.rsplit(": ", 1)[1] for line in seen.read_text().splitlines()]
    assert outcomes[0] == "echo"
    # An execution without a conclusion is run a second time, and that is said.
    if "was inconclusive and was run again" in output:
        assert set(outcomes[1:]) == set(OUTCOMES.values()), output
    else:
        assert sorted(outcomes[1:]) == sorted(OUTCOMES.values()), output
    assert "plan not met" not in output


def test_a_reused_connection_is_faulted_at_the_planned_request(tmp_path):
    """Three requests on one connection: a fault at the n-th leaves those before it alone."""
    seen = tmp_path / "seen"
    explore(tmp_path, f"{PROGRAMS}/http_client keep-alive $PORT_ECHO 3 >> {seen}; exit 0",
            faults=["status:503"])
    outcomes = [line.rsplit(": ", 1)[1] for line in seen.read_text().splitlines()]
    assert outcomes == ["echo"] + ["status 503"] * 3
