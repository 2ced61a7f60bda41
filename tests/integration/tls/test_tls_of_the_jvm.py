"""The JDK's TLS, under SSLSocket and SSLEngine: what goes over it is followed, and stays as it is. (The matrix of clients and faults
is in test_http_faults.py and test_http2_over_tls.py, that of servers in test_tls_servers.py.)"""
import collections

import pytest

import certificates
from conftest import BUILD
from rpc_tree import observe

JAVA = f"java -cp {BUILD}/tests/java"


def echo(tls, flags=""):
    return {"name": "echo", "command": f"exec {JAVA} {flags} Bytes serve ${{port:echo}} {tls}"}


@pytest.mark.parametrize("flags", ["", "-Xcheck:jni -XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal", "-Djdk.tls.client.protocols=TLSv1.2"])
def test_sockets_carry_the_same_bytes(project, tls, flags):
    threads, rounds = 8, 20
    command = f"export SSL_CERT_FILE={tls}/ca.pem; {JAVA} {flags} Bytes ask ${{port:echo}} {threads} {rounds} > told 2>&1"
    run = observe(project, [echo(tls, flags)], command)
    assert (project.directory / "told").read_text() == f"{threads * rounds} times the same\n"
    paths = collections.Counter(rpc["path"] for rpc in run.test["reference"])
    assert paths == {f"/{thread}/{round}": 1 for thread in range(threads) for round in range(rounds)}
    assert {(rpc["caller"], rpc["service"], rpc["status"]) for rpc in run.test["reference"]} == {("test", "echo", 200)}
    (log,) = (project.root / "logs").glob("echo*")
    assert log.read_text() == ""
