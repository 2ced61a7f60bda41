"""Fixtures of the integration tests: the built programs, a project folder, one exploration.

Every process is started by the test itself on free loopback ports and ended by its process id.
"""
import atexit
import fcntl
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import certificates
import documents
from durations import Durations
from pairs import pytest_addoption, pytest_collection_modifyitems  # noqa: F401  (hooks)


def without_blanks(path):
    """The path, or a link to it, for the commands of shells that the tests consist of, and for LD_PRELOAD, whose entries
    blanks and colons separate."""
    if re.fullmatch(r"[\w./+,@%-]+", str(path), re.ASCII):
        return path
    folder = pathlib.Path(tempfile.mkdtemp(prefix="filibuster-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)  # some tests have programs of other users
    link = folder / re.sub(r"[^\w.-]", "-", path.name, flags=re.ASCII)
    link.symlink_to(path)
    return link


REPOSITORY = without_blanks(pathlib.Path(__file__).resolve().parents[2])
TESTS = REPOSITORY / "tests" / "integration"
BUILD = REPOSITORY / os.environ.get("BUILD", "build")
FILIBUSTER = BUILD / "bin" / "filibuster"
DAEMON = BUILD / "bin" / "filibusterd"
PRELOAD = BUILD / "lib" / "libfilibuster.so"
PROGRAMS = BUILD / "tests" / "programs"
CORPUS = REPOSITORY.resolve() / "corpus"  # runtimes name the files of their programs so, through links
PYTHON = "/usr/bin/python3"

# A shell that starts these tests in the background has Ctrl-C ignored in all that it starts; the
# tests of Ctrl-C need what a terminal gives.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line("markers", "whole: the rest of a product, a further example of a kind, or a long or busy run, that only `make test-all` runs")
    config.addinivalue_line("markers", "stays(names, rows, together): the table of a product (pairs.py)")
    config.addinivalue_line("markers", "alone: needs the machine for itself, as the tests of attach do")
    if not hasattr(config, "workerinput"):  # the workers of xdist report to the process that writes
        config.pluginmanager.register(Durations())


def wait_until(condition, what, timeout=30.0):
    """Polls `condition` until it is true; the deadline only bounds a failing test."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"gave up after {timeout} s waiting until {what}")
        time.sleep(0.01)
    return result


# Below those that the kernel gives to clients (32768 to 60999) and those that the daemon gives to services (20000 to 31999):
# no connection of another test takes one between its choice and its use.
PORTS = range(10000, 20000)
# The last of them that was chosen, by any test of any run on this machine.
CHOSEN = pathlib.Path("/tmp/filibuster-tests-port")


def open_chosen():
    """The file of CHOSEN, locked. It is everybody's: other users' tests take their ports from the same range."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(CHOSEN, flags)
    except FileNotFoundError:
        try:
            descriptor = os.open(CHOSEN, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(descriptor, 0o666)
        except FileExistsError:
            descriptor = os.open(CHOSEN, flags)
    file = os.fdopen(descriptor, "r+")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def need_user_name():
    """For programs that look their user up (initdb, ssh-keygen)."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        pytest.skip(f"NOT CHECKED: user {os.geteuid()} has no name on this machine")


def free_port():
    """One that nobody uses, and that no other test chooses before each other one was: it is still free where it is used,
    some time after this."""
    with open_chosen() as file:
        last = file.read()
        last = int(last) if last.isascii() and last.isdigit() else random.choice(PORTS)
        for step in range(1, len(PORTS) + 1):
            port = PORTS[(last - PORTS.start + step) % len(PORTS)]
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
            file.seek(0)
            file.write(str(port))
            file.truncate()
            return port
    raise AssertionError("no port is free")


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Run:
    """What one run of the command line tool gave."""

    def __init__(self, root, process):
        self.root, self.exit_code = root, process.returncode
        self.output, self.errors = process.stdout, process.stderr

    @property
    def report(self):
        return json.loads((self.root / "report.json").read_text())

    @property
    def test(self):
        """The report of the only test."""
        (test,) = self.report["tests"]
        return test

    @property
    def executed(self):
        return self.test["counts"]["executed"]

    @property
    def repeated(self):
        """Numbers of the executions that allowed no conclusion and were run again."""
        return {int(number) for note in self.test["notes"]
                for number in re.findall(r"^execution (\d+) was inconclusive and was run again", note)}

    @property
    def looked_again(self):
        """Numbers of the executions without faults that only looked whether the application is as it was."""
        return set(self.test["reference_again"]["executions"])

    @property
    def counterexamples(self):
        return sorted((self.root / "counterexamples").glob("*.json"))

    def __repr__(self):
        return f"exit code {self.exit_code}\n{self.output}\n{self.errors}"


class Project:
    """A folder with a configuration and a state directory of its own."""

    def __init__(self, directory):
        self.directory = directory
        self.root = directory / ".filibuster"
        self.started = []
        self.checked = documents.Checked()

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text, indent=2))
        return path

    def filibuster(self, verb, *arguments, timeout=300, env=None, cwd=None):
        """Runs `filibuster VERB --root ROOT ARGUMENTS...` to its end."""
        process = subprocess.run(
            [str(FILIBUSTER), verb, "--root", str(self.root), *map(str, arguments)],
            cwd=cwd or self.directory, env={**os.environ, **(env or {})}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        run = Run(self.root, process)
        print(run)  # pytest shows it, whole, if the test fails
        if verb in ("run", "replay", "trace", "lint"):
            self.checked.root(self.root)
            if "--json" in arguments and verb != "trace":  # its last line is the answer of GET /v1/trace
                documents.events(run.output)
        return run

    def start(self, verb, *arguments, env=None):
        """The same, not waited for; ended with the test."""
        process = subprocess.Popen(
            [str(FILIBUSTER), verb, "--root", str(self.root), *map(str, arguments)],
            cwd=self.directory, env={**os.environ, **(env or {})}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.started.append(process)
        return process

    def daemon(self):
        return json.loads((self.root / "daemon.json").read_text())

    def end(self):
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        try:
            daemon = self.daemon()
            os.kill(daemon["pid"], signal.SIGTERM)
            wait_until(lambda: not pathlib.Path(f"/proc/{daemon['pid']}").exists(), "the daemon ends")
        except (OSError, ValueError, KeyError):
            pass


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    yield made
    made.end()


@pytest.fixture
def open_project():
    """In a folder that every user can enter."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="filibuster-open-"))
    directory.chmod(0o755)
    made = Project(directory)
    yield made
    made.end()
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def tls(tmp_path_factory):
    """A folder with a certificate (certificates.py)."""
    return certificates.make(tmp_path_factory.mktemp("tls"))
