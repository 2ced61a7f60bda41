"""64 threads on each side, connections that are kept, writes and reads of random sizes, over OpenSSL: every byte arrives as without us, and
every request is one RPC."""
import collections
import os
import random
import subprocess

import pytest

from conftest import PROGRAMS, accepts, free_port, wait_until
from rpc_tree import observe

STRESS = f"{PROGRAMS}/tls_stress"
THREADS = 64


def check(project, tls, requests, seed):
    print(f"seed {seed}")
    server = {"name": "web", "command": f"exec {STRESS} serve ${{port:web}} {tls}/cert.pem {tls}/key.pem"}
    run = observe(project, [server], f"exec {STRESS} ask ${{port:web}} {tls}/ca.pem {THREADS} {requests} {seed}")
    paths = collections.Counter(rpc["path"] for rpc in run.test["reference"])
    assert paths == {f"/{t}/{n}": 1 for t in range(THREADS) for n in range(requests)}
    assert {rpc["status"] for rpc in run.test["reference"]} == {200}


def test_the_program_itself(tls):
    """Without us it succeeds, and it notices bytes that are not the asked ones."""
    port = free_port()
    server = subprocess.Popen([STRESS, "serve", str(port), f"{tls}/cert.pem", f"{tls}/key.pem"])
    try:
        wait_until(lambda: accepts(port), "the server listens")
        assert subprocess.run([STRESS, "ask", str(port), f"{tls}/ca.pem", "8", "4", "1"], timeout=60).returncode == 0
        assert subprocess.run([STRESS, "ask", str(port), f"{tls}/key.pem", "1", "1", "1"], timeout=60).returncode == 1
    finally:
        server.kill()
        server.wait()


def test_64_threads(project, tls):
    check(project, tls, 6, random.randrange(1 << 20))


@pytest.mark.whole
def test_64_threads_for_long(project, tls):
    for _ in range(int(os.environ.get("TORTURE", "3"))):
        check(project, tls, 60, random.randrange(1 << 20))
