"""Attacks of a host on the library in it: each program does what it does without us, without a daemon and in a session."""
import os
import subprocess

import pytest

from conftest import PRELOAD, PROGRAMS, accepts, free_port, wait_until
from small_apps import config

GAMES = {
    "limit_games": ["few-descriptors", "fewer-and-fewer", "little-memory", "no-files", "no-processes", "small-stacks", "few-calls"],
    "pass_games": ["message", "exec", "pidfd", "ring"],
    "fd_games": ["close-all", "close-range", "closefrom", "dup2-over", "daemonize", "database"],
    "thread_games": ["cancel", "jump", "exit", "signals", "storm"],
    "fork_games": ["fork", "vfork", "spawn", "exec"],
}
SERVER = f"{PROGRAMS}/http_echo_server threads"


def played(command, env=None):
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})})
    return {"ended": result.returncode, "said": result.stdout, "complained": result.stderr}


@pytest.fixture
def server():
    """Of programs that no session sees."""
    port = free_port()
    process = subprocess.Popen([*SERVER.split(), str(port)])
    wait_until(lambda: accepts(port), "the echo server listens")
    yield port
    process.kill()
    process.wait()


@pytest.mark.parametrize("program,game", [(program, game) for program, games in GAMES.items() for game in games])
def test_a_program_does_the_same_with_and_without_us(project, server, program, game):
    command = [f"{PROGRAMS}/{program}", game]
    plain = played([*command, str(server)])
    assert plain["said"] and "cannot be played" not in plain["said"], plain
    nowhere = {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{project.directory}/no/agent.sock"}
    assert played([*command, str(server)], nowhere) == plain
    assert played([*command, str(server)], {"LD_PRELOAD": str(PRELOAD)}) == plain

    said, complained = project.directory / "said", project.directory / "complained"
    # Through pipes, as above: a file could not grow under a limit.
    game_alone = f"{' '.join(command)} ${{port:echo}} 3>&-; echo $? > ended"
    test = f"{{ {{ {game_alone}; }} 2>&1 1>&3 | cat > {complained}; }} 3>&1 | cat > {said}"
    project.write("filibuster.json", config([{"name": "echo", "command": f"exec {SERVER} ${{port:echo}}"}],
                                            [{"name": "game", "command": test}]))
    run = project.filibuster("trace")
    in_session = {"ended": int((project.directory / "ended").read_text()), "said": said.read_text(), "complained": complained.read_text()}
    assert in_session == plain, run
    # What happened can be said, or is said not to be known; the daemon is there to say it.
    told = run.output + run.errors
    assert run.exit_code == 0 or (run.exit_code == 3 and ("no conclusion" in told or "no RPC" in told)), run
