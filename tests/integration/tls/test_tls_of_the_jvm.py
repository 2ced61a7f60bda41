"""The JDK's TLS, under SSLSocket and SSLEngine: what goes over it is followed, and stays as it is. (The matrix of clients and faults
is in test_http_faults.py and test_http2_over_tls.py, that of servers in test_tls_servers.py.)"""
import collections

import pytest

import certificates
import pairs
from conftest import BUILD
from rpc_tree import observe
from small_apps import config, printed, printing, relay

JAVA = f"java -cp {BUILD}/tests/java"


def echo(tls, kind, flags=""):
    return {"name": "echo", "command": f"exec {JAVA} {flags} Bytes serve ${{port:echo}} {tls} {kind}"}


# Each of the two; an SSLEngine with TLS 1.3 is in test_tls_servers.py (java Netty).
@pairs.only("kind, flags",
            [("engine", "-Djdk.tls.client.protocols=TLSv1.2"), ("socket", "-Xcheck:jni -XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal")])
@pytest.mark.parametrize("kind", ["socket", "engine"])
@pytest.mark.parametrize("flags", ["", "-Xcheck:jni -XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal", "-Djdk.tls.client.protocols=TLSv1.2"])
def test_the_same_bytes_arrive(project, tls, flags, kind):
    threads, rounds = 8, 20
    command = f"export SSL_CERT_FILE={tls}/ca.pem; {JAVA} {flags} Bytes ask ${{port:echo}} {kind} {threads} {rounds} > told 2>&1"
    run = observe(project, [echo(tls, kind, flags)], command)
    assert (project.directory / "told").read_text() == f"{threads * rounds} times the same\n"
    paths = collections.Counter(rpc["path"] for rpc in run.test["reference"])
    assert paths == {f"/{thread}/{round}": 1 for thread in range(threads) for round in range(rounds)}
    assert {(rpc["caller"], rpc["service"], rpc["status"]) for rpc in run.test["reference"]} == {("test", "echo", 200)}
    (log,) = (project.root / "logs").glob("echo*")
    assert log.read_text() == ""


def front(tls, client):
    return {"name": "front", "command": f"exec {JAVA} Front ${{port:front}} {tls} {client}",
            "env": certificates.trusted(tls) | {"BACK": "https://localhost:${port:back}"}}


def at_once(tls, number):
    urls = " ".join(f"https://localhost:${{port:front}}/{i}" for i in range(number))
    return f"curl -sS -m 20 -Z --parallel-immediate --parallel-max {number} --http1.1 --cacert {tls}/ca.pem {urls} > told"


@pytest.mark.parametrize("client", ["url", "http"])
def test_calls_have_the_request_that_caused_them(project, tls, client):
    """HttpClient writes from other threads than those that call it."""
    number = 12
    run = observe(project, [relay("back", options=f"--tls {tls}"), front(tls, client)], at_once(tls, number), index={"stack": True})
    by_index = {rpc["index"]: rpc for rpc in run.test["reference"]}
    below = [rpc for rpc in run.test["reference"] if rpc["caller"] == "front"]
    assert sorted(rpc["path"] for rpc in below) == sorted(f"/{i}" for i in range(number)), run
    assert [rpc for rpc in below if by_index[rpc["parent"]]["path"] != rpc["path"]] == []
    # One call site, in the program's own lines.
    (stack,) = {tuple(rpc["stack"]) for rpc in below}
    assert all(frame.startswith("Front.java:") for frame in stack), stack


FAULTS = ["status:503", "reset", "timeout", "status:503:after", "reset:after", "timeout:after", "latency:50ms", "empty-message", "corrupt-message"]


# SSLSocket; faults on an SSLEngine are in test_tls_servers.py (java Netty).
@pairs.only("kind", ["socket"])
@pytest.mark.parametrize("kind", ["socket", "engine"])
def test_faults_on_a_kept_connection(project, tls, kind):
    """The second of three requests. The fault finds it, and what was planned happens."""
    command = f"{JAVA} Bytes ask ${{port:echo}} {kind} 1 3 2>&1"
    project.write("filibuster.json", config(
        [echo(tls, kind)], [{"name": "client", "command": printing(command), "env": certificates.trusted(tls)}], default_faults=False,
        bounds={"max_faults": 1}, faults=[{"on": {"caller": "test", "path": "/0/1"}, "inject": FAULTS}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 1 + len(FAULTS), run
    told = printed(run)
    waited = [text for text in told if "TimeoutException" in text]
    assert len(waited) == sum(fault.startswith("timeout") for fault in FAULTS), told
