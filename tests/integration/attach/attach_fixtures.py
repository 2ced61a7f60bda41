"""Programs that run before they are attached, loaders, and proxies. What the kernel does not allow is skipped, with its
answer; with REQUIRE_BPF=1 it is a failure."""
import functools
import json
import os
import subprocess

import pytest

import in_kernel
import loader_client
from conftest import PROGRAMS, PYTHON, free_port, wait_until, accepts


@functools.cache
def probed():
    """{feature: row} of `filibuster-bpf probe`; None: it was not built."""
    if not loader_client.LOADER.exists():
        return None
    done = subprocess.run([str(loader_client.LOADER), "probe"], stdout=subprocess.PIPE, check=True, timeout=60)
    return {row["feature"]: row for row in json.loads(done.stdout)}


# What every attach needs.
BASIC = ("capabilities", "BTF", "cgroup2 mount", "ring buffer", "cgroup/connect", "cgroup/getpeername", "sockops",
         "sk_lookup", "tp_btf processes", "sk_msg", "iter/tcp")


def skip(what, why):
    """What cannot be tested here says so; with REQUIRE_BPF=1 that is a failure."""
    if os.environ.get("REQUIRE_BPF") == "1":
        pytest.fail(f"REQUIRE_BPF=1, and this does not work here: {what}: {why}")
    pytest.skip(f"NOT TESTED HERE: {what}: {why}")


def need(*features, instead=()):
    """Skips, or fails with REQUIRE_BPF=1, where one of them does not work. It is no failure where one of `instead` works,
    which does the same."""
    rows = probed()
    if rows is None and os.path.exists("/sys/kernel/btf/vmlinux"):  # `make test` installs all that it is built from
        pytest.fail("filibuster-bpf was not built (`make attach` says what is missing)")
    if rows is None:
        skip("attaching", "filibuster-bpf is not built where the kernel has no BTF")
    missing = [rows[name] for name in features if not rows[name]["works"]]
    if not missing:
        return
    what = ", ".join(row["feature"] for row in missing)
    why = "; ".join(f"{row['answer']}. {row['what_to_do']}" for row in missing)
    if any(rows[name]["works"] for name in instead):
        pytest.skip(f"NOT TESTED HERE: {what}: {why}")
    skip(what, why)


class Told:
    """A process that answers each line that it is told with a line."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid

    def __call__(self, *words):
        self.tell(*words)
        return self.answer()

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def started():
    """start(make, *arguments) -> what was made, ended after the test, the last first."""
    made = []

    def start(make, *arguments):
        made.append(make(*arguments))
        return made[-1]
    yield start
    for each in reversed(made):
        (each.end if hasattr(each, "end") else each.close)()
    loaders = [each for each in made if isinstance(each, loader_client.Loader)]
    if loaders:
        in_kernel.wait_until_nothing_is_left(*loaders)


@pytest.fixture
def caller(started):
    """A static program that calls (tests/programs/attach/caller.cc)."""
    return started(Told, PROGRAMS / "attach_caller")


class Echo:
    """Answers each request with its own bytes, and keeps its connections (tests/programs/http_echo_server.cc)."""

    def __init__(self, mode="threads"):
        self.process = subprocess.Popen([str(PROGRAMS / "http_echo_server"), mode, "0"], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.port = int(self.process.stdout.readline().split()[-1])

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def echo(started):
    return started(Echo)


class Serves:
    """A program that listens at a free port, which is its last argument."""

    def __init__(self, *command, port=None):
        self.port = port or free_port()
        self.process = subprocess.Popen([PYTHON, *map(str, command), str(self.port)], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_until(lambda: accepts(self.port), f"{command} listens")

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def loader(started):
    need(*BASIC)
    return started(loader_client.Loader)


@pytest.fixture
def proxy(loader, started):
    return started(loader_client.Proxy, loader)
