"""No function that we stand in the place of needs much more stack of its caller than it does without us: not in the clear, not over
TLS, not with a fault, and not in a handler on a signal stack."""
import subprocess

import pytest

import pairs
from conftest import PROGRAMS
from rpc_tree import without_us
from small_apps import config

DEPTH = f"{PROGRAMS}/stack_depth"
OURS = 4096  # bytes
FAULTS = ["status:503", "reset", "timeout", "latency:20ms", "status:503:after", "reset:after", "timeout:after", "content-length:-10",
          "tls:certificate-expired", "tls:unknown-ca", "tls:handshake-timeout", "tls:closed-without-notify"]
CLEAR = ["accept4", "close", "connect", "poll", "read", "readv", "recv", "recvmsg", "send", "sendmsg", "shutdown", "socket", "write", "writev"]
OPENSSL = ["SSL_accept", "SSL_connect", "SSL_free", "SSL_peek", "SSL_pending", "SSL_read", "SSL_shutdown", "SSL_write"]
GNUTLS = ["gnutls_bye", "gnutls_deinit", "gnutls_handshake", "gnutls_init", "gnutls_record_recv", "gnutls_record_send"]


def services(tls):
    return [{"name": "back", "ports": ["back", "back-tls"],
             "command": f"exec {DEPTH} serve ${{port:back}} ${{port:back-tls}} {tls}/cert.pem {tls}/key.pem depths"}]


def ask(how, tls):
    return f"SSL_CERT_FILE={tls}/ca.pem {DEPTH} {how} ${{port:back}} ${{port:back-tls}} depths"


def depths(file):
    """The greatest depth of each function, by where it was called."""
    deepest = {}
    for line in file.read_text().splitlines():
        place, name, depth = line.split()
        deepest[place, name] = max(deepest.get((place, name), 0), int(depth))
    return deepest


def plain_depths(project, tls, how):
    with without_us(services(tls), project.directory) as (environment, filled):
        for _ in range(3):
            subprocess.run(["sh", "-c", filled(ask(how, tls))], cwd=project.directory, env=environment, check=True, timeout=60)
    file = project.directory / "depths"
    plain = depths(file)
    file.unlink()
    return plain


def check(plain, ours, names):
    shares = {key: ours[key] - plain[key] for key in ours.keys() & plain.keys()}
    for (place, name), share in sorted(shares.items(), key=lambda row: -row[1]):
        print(f"{place:8} {name:20} {plain[place, name]:6} bytes without us, {share:6} more with us")
    assert {name for _, name in ours.keys() & plain.keys()} >= set(names)
    assert {key: share for key, share in shares.items() if share > OURS} == {}


def observed(project, tls, how, faults):
    project.write("filibuster.json", config(
        services(tls), [{"name": "ask", "command": f"{ask(how, tls)}; exit 0"}], fault_test_calls=True, default_faults=False,
        bounds={"max_faults": 1, "reference_executions": 1}, faults=[{"inject": faults}] if faults else []))
    run = project.filibuster("run", "--no-snapshot")
    assert run.executed > len(faults), run
    return depths(project.directory / "depths")


def test_what_hooks_take_of_the_stack(project, tls):
    check(plain_depths(project, tls, "ask"), observed(project, tls, "ask", []), CLEAR + OPENSSL + GNUTLS)


# One of each kind: an answer of ours, what comes after the effect, a changed answer, a handshake.
@pairs.only("fault", ["status:503", "timeout:after", "content-length:-10", "tls:certificate-expired"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_hooks_take_of_the_stack_with_a_fault(project, tls, fault):
    check(plain_depths(project, tls, "ask"), observed(project, tls, "ask", [fault]), CLEAR + OPENSSL + GNUTLS)


def test_what_hooks_take_of_a_signal_stack(project, tls):
    check(plain_depths(project, tls, "handler"), observed(project, tls, "handler", ["status:503", "reset"]), CLEAR)
