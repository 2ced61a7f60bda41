"""Runs the same programs in three ways: as they are, preloaded without a session, and preloaded in a session. They must
not notice: the test's command prints the same, writes the same to stderr and ends in the same way, and no service says
what it does not say without us."""
import contextlib
import difflib
import os
import pathlib
import re
import signal
import subprocess

from conftest import PRELOAD, accepts, free_port, wait_until
from small_apps import config

# A session ends a service by one signal to its whole group. A worker of gunicorn gets its master's besides, and says or
# does not say so, as it comes before or in the middle of the worker's own end (19 of 20 times, without us, too).
SIGNALLED_TWICE = re.compile(r"Worker with pid # was terminated due to signal #$")
# A session connects to see whether a service is ready, and hangs up. sshd finds the end, or a reset where it has greeted before.
HUNG_UP = re.compile(r"^kex_exchange_identification: ")
OUR_FIELD = re.compile(rb"^x-filibuster: [0-9a-f-]+ *\r?\n", re.M | re.I)


class Program:
    """Services, and a command of a test that uses them. `ports` are the names of the ports that each service listens on."""

    def __init__(self, services, command):
        self.services, self.command = services, command


def until_closed(*names):
    """What a command does at its end: it waits until the server at these ports has closed all connections of its clients.

    Apache needs it. A child of mpm_event that is to end closes the sockets of its workers (`close_worker_sockets`), and a worker that has
    just ended its connection frees that socket at the same time: 1 end of 20 is a segmentation fault where fcntl() takes 0.3 ms longer,
    whatever makes it take longer."""
    ports = "|".join(f"$(printf %04X ${{port:{name}}})" for name in names)
    return f'\nwhile grep -qE "^ *[0-9]+: [0-9A-F]{{8}}:({ports}) [0-9A-F:]+ (0[1-5789B])" /proc/net/tcp; do sleep 0.01; done\n'


def filled(text, ports):
    return re.sub(r"\$\{port:([^}]+)\}", lambda match: str(ports[match[1]]), text)


def in_group(group):
    """True: a process of it runs. One that has ended and that nobody waits for runs no more: in a container, the first process
    need not wait for what it was left."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            if entry.name.isdigit():
                state, _, member_of = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                if int(member_of) == group and state != "Z":
                    return True
    return False


def end(process):
    """Ends a service with all that it started. Gives how it ended. A master is signalled alone, and ends its workers
    itself; what it leaves behind, and what was started beside it, is signalled after it."""
    process.send_signal(signal.SIGTERM)
    try:
        status = process.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        wait_until(lambda: not in_group(process.pid), "all that it started has ended, too", 20)
    except subprocess.TimeoutExpired:
        status = "did not end"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return status


def by_hand(project, program, ports, way, **preloaded):
    """What the command gave, and what the services did."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER")} | preloaded
    log_of = {service["name"]: project.directory / f"{way}-{service['name']}.log" for service in program.services}
    processes = {}
    try:
        for service in program.services:
            name = service["name"]
            environment = plain | {key: filled(value, ports) for key, value in service.get("env", {}).items()}
            with log_of[name].open("wb") as output:
                processes[name] = subprocess.Popen(["/bin/sh", "-c", filled(service["command"], ports)], cwd=project.directory,
                                                   env=environment, stdout=output, stderr=output, start_new_session=True)
            for port in service.get("ports", [name]):
                wait_until(lambda: accepts(ports[port]) or processes[name].poll() is not None, f"{name} serves at {port}", 60)
            assert processes[name].poll() is None, (way, log_of[name].read_text(errors="replace"))
        given = subprocess.run(["/bin/sh", "-c", filled(program.command, ports)], cwd=project.directory, env=plain,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    finally:
        ended = {name: end(process) for name, process in reversed(processes.items())}
    assert "did not end" not in ended.values(), ended
    return {"printed": given.stdout, "complained": given.stderr, "ended": given.returncode}, ended, \
        {name: log.read_text(errors="replace") for name, log in log_of.items()}


def in_session(project, program, ports):
    services = [{**service, "ports": {name: ports[name] for name in service.get("ports", [service["name"]])}}
                for service in program.services]
    # A service is ready where its first port is (by name); others may come later.
    listening = "".join(f"while ! bash -c ': < /dev/tcp/127.0.0.1/{port}' 2> /dev/null; do sleep 0.05; done; " for port in ports.values())
    command = f"{listening}({program.command}\n) > printed 2> complained < /dev/null; echo $? > ended"
    project.write("filibuster.json", config(services, [{"name": "client", "command": command}]))
    run = project.filibuster("trace")
    told = run.output + run.errors
    assert run.exit_code == 0 or (run.exit_code == 3 and ("no RPC" in told or "no conclusion" in told)), run
    read = {name: (project.directory / name).read_bytes() for name in ("printed", "complained", "ended")}
    logs = {service["name"]: (project.root / "logs" / f"{service['name']}-0.log").read_text(errors="replace") for service in services}
    return {**read, "ended": int(read["ended"])}, logs, run


# A program of Apache's that complains without an end of line: what comes behind it, another complaint or a line of the server's, is a
# matter of time.
UNENDED = re.compile(r"(?=Not a git repository|\[\w{3} \w{3} \d+ \d+:)")


def sayings(text):
    """Lines of a log without what differs from start to start."""
    lines = [part for line in text.splitlines() for part in UNENDED.split(line) if part]
    return {re.sub(r"0x[0-9a-f]+|\d+", "#", line).strip() for line in lines}


def assert_same(given, plain):
    lines = [{key: value.decode(errors="replace").splitlines() if isinstance(value, bytes) else [str(value)] for key, value in each.items()}
             for each in (plain, given)]
    for key in plain:
        assert given[key] == plain[key], key + "\n" + "\n".join(difflib.unified_diff(lines[0][key], lines[1][key], "plain", "preloaded", lineterm=""))


def check_unnoticed(project, program, fields=False):
    """Gives the run of the session, for what else it must show. `fields`: echo.py writes our header fields to a file."""
    names = [name for service in program.services for name in service.get("ports", [service["name"]])]
    ports = {name: free_port() for name in names}
    project.write("filibuster.json", config([], []))  # the pages are this application's
    plain, ended, logs = by_hand(project, program, ports, "plain")
    assert plain["printed"], (plain, logs)
    preloaded = by_hand(project, program, ports, "preloaded", LD_PRELOAD=str(PRELOAD))
    assert_same(preloaded[0], plain)
    assert preloaded[1] == ended, "how the services ended"
    written = project.directory / "fields"
    assert not written.exists(), "there is no session"
    given, session_logs, run = in_session(project, program, ports)
    if fields:
        assert OUR_FIELD.sub(b"", written.read_bytes()) == b"" and written.stat().st_size, written.read_bytes()
    assert_same(given, plain)
    for name, log in logs.items():
        for way, other in (("preloaded", preloaded[2][name]), ("in the session", session_logs[name])):
            more = sayings(other) - sayings(log)
            if way == "in the session":
                more = {line for line in more if not SIGNALLED_TWICE.search(line) and not HUNG_UP.search(line)}
            assert not more, (name, way, more)
    return run
