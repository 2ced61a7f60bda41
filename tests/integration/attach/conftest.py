"""What the kernel has to give for the tests of this folder. Without it they are skipped, or fail with REQUIRE_BPF=1."""
import json
import os
import subprocess

import pytest

from running import LOADER, Running


NEEDED = {"capabilities", "BTF", "cgroup2 mount", "ring buffer", "cgroup/connect", "cgroup/getpeername", "sockops",
          "sk_lookup", "tp_btf processes"}


def why_not():
    """"": services can be attached here."""
    if not LOADER.exists():
        return f"{LOADER} was not built"
    probed = subprocess.run([LOADER, "probe"], capture_output=True, text=True, timeout=60)
    try:
        answer = json.loads(probed.stdout)
    except ValueError:
        return f"filibuster-bpf probe: exit code {probed.returncode}: {probed.stdout}{probed.stderr}"
    missing = [row for row in answer if row["feature"] in NEEDED and not row["works"]]
    return "; ".join(f"{row['feature']}: {row['answer']} ({row['what_to_do']})" for row in missing)


@pytest.fixture(scope="session", autouse=True)
def kernel():
    why = why_not()
    if why and os.environ.get("REQUIRE_BPF") == "1":
        pytest.fail(f"services cannot be attached here: {why}")
    if why:
        pytest.skip(f"NOT CHECKED: attaching to services that run; the kernel says: {why}")


@pytest.fixture
def run_already(tmp_path):
    """Starts the services of a configuration, without the library; ends them."""
    started = []

    def start(configuration, *names):
        started.append(Running(tmp_path, configuration))
        return started[-1].start(*names)
    yield start
    for running in started:
        running.end()
