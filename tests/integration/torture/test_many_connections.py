"""Many connections, one after the other and all open at once: each is answered as without us, and nothing is left of them,
neither without a session nor in one. While they are open and idle they take little memory. TORTURE=1: 100,000 of them, and as
many at once as descriptors are allowed."""
import os
import re
import resource
import subprocess

import pytest

from conftest import PRELOAD, PROGRAMS, accepts, free_port, wait_until
from small_apps import config

LONG = bool(os.environ.get("TORTURE"))
ROOM = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
COUNTS = {"after": 100_000 if LONG else 2000,
          "once": min(ROOM - 200, 30_000) if LONG else 500,
          "kept": 9900 if LONG else 1000}
# What a session may keep for each process, whatever the number of connections: kilobytes.
MOST_KEPT = 4096
# What an idle connection of HTTP/1 may take at both of its ends together: bytes.
MOST_AT_BOTH_ENDS = 12_000
SERVER = f"ulimit -n $(ulimit -Hn); echo $$ > {{pid}}; exec {PROGRAMS}/http_echo_server epoll {{port}}"


def numbers(text):
    found = re.fullmatch(r"(good .*)\ndescriptors (-?\d+) server (-?\d+)\nmemory (-?\d+) server (-?\d+)\n", text)
    assert found, text
    return found[1], [int(found[2]), int(found[3])], [int(found[4]), int(found[5])]


def outside(directory, mode, env):
    pid, port = directory / "outside.pid", free_port()
    environment = {**{k: v for k, v in os.environ.items() if not k.startswith("FILIBUSTER")}, **env}
    server = subprocess.Popen(["sh", "-c", SERVER.format(pid=pid, port=port)], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: accepts(port), "the echo server listens")
        client = subprocess.run([PROGRAMS / "many_connections", mode, str(port), str(COUNTS[mode]), pid], env=environment,
                                capture_output=True, text=True, timeout=400)
        assert client.returncode == 0 and client.stderr == "", client
        return numbers(client.stdout)
    finally:
        server.kill()
        server.wait()


def in_session(project, mode):
    """What it prints there, and the run."""
    server = {"name": "echo", "command": SERVER.format(pid=project.directory / "pid", port="${port:echo}")}
    told = project.directory / "told"
    test = f"exec {PROGRAMS}/many_connections {mode} ${{port:echo}} {COUNTS[mode]} pid > {told}"
    project.write("filibuster.json", config([server], [{"name": "many", "command": test}], default_faults=False,
                                            bounds={"reference_executions": 1, "quiesce_timeout": "60s"}))
    run = project.filibuster("trace", timeout=500)
    # Where not all of it could be followed, that is said.
    assert run.exit_code == 0 or (run.exit_code == 3 and "no conclusion" in run.output), run.output[-2000:] + run.errors
    return numbers(told.read_text()), run


def test_an_idle_connection_takes_little_memory_at_both_ends_together(project):
    count = COUNTS["kept"]
    answered, descriptors, memory = outside(project.directory, "kept", {})
    followed, run = in_session(project, "kept")
    assert followed[:2] == (answered, descriptors), run.errors
    most = count - count // 10
    assert descriptors == [most, most]
    ours = [(now - plain) * 1024 / most for now, plain in zip(followed[2], memory)]
    assert 0 < sum(ours) <= MOST_AT_BOTH_ENDS, ours


@pytest.mark.parametrize("mode", ["after", "once"])
def test_many_connections_leave_nothing_and_are_answered_as_without_us(project, mode):
    answered, descriptors, memory = outside(project.directory, mode, {})
    assert answered == f"good {COUNTS[mode] * (2 if mode == 'once' else 1)} wrong 0 not connected 0 not sent 0"
    assert descriptors == [0, 0]
    nowhere = {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{project.directory}/no/agent.sock"}
    alone = outside(project.directory, mode, nowhere)
    assert alone[:2] == (answered, descriptors)
    assert all(ours - plain < MOST_KEPT for ours, plain in zip(alone[2], memory)), (alone, memory)

    followed, run = in_session(project, mode)
    assert followed[:2] == (answered, descriptors), run.errors
    assert all(ours - plain < MOST_KEPT for ours, plain in zip(followed[2], memory)), (followed, memory)
