"""Faults of the handshake: each client library's own exception (docs/tls.md has the table)."""
import shutil

import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON
from small_apps import config, printed, printing, relay

FAULTS = ["certificate-expired", "unknown-ca", "handshake-timeout", "closed-without-notify"]
PROGRAMS = {
    "requests": "import os, sys, requests\ntry: print(requests.get(sys.argv[1], timeout=int(os.environ['LIMIT'])).status_code)\nexcept Exception as e: print(type(e).__name__, e)",
    "urllib": "import os, sys, urllib.request\ntry: print(urllib.request.urlopen(sys.argv[1], timeout=int(os.environ['LIMIT'])).status)\nexcept Exception as e: print(type(e).__name__, e)",
    "aiohttp": """
import asyncio, os, ssl, sys, aiohttp
async def main():
    try:
        context = ssl.create_default_context()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=int(os.environ["LIMIT"]))) as session:
            async with session.get(sys.argv[1], ssl=context) as answer:
                print(answer.status)
    except Exception as e:
        print(type(e).__name__, e)
asyncio.run(main())
""",
    "https": """
const request = require('https').get(process.argv[2], {timeout: 1000 * process.env.LIMIT}, answer => { console.log(answer.statusCode); answer.resume(); });
request.on('timeout', () => request.destroy(new Error('timed out')));
request.on('error', error => console.log(error.code, error.message));
""",
    "fetch": "fetch(process.argv[2]).then(a => console.log(a.status), e => console.log(String(e), (e.cause || {}).code))",
}
# Python 3.11 of Debian reports an end in the middle of a handshake in the first of these ways, others in the second.
CLOSED = "has been closed|EOF occurred"
# What stands in what the client prints, by fault. None: the fault is not for this client (docs/tls.md says why).
CLIENTS = {
    "requests": (f"{PYTHON} requests.prog $URL", ["certificate has expired", "unable to get local issuer", "ConnectTimeout|ReadTimeout", CLOSED]),
    "urllib": (f"{PYTHON} urllib.prog $URL", ["certificate has expired", "unable to get local issuer", "timed out", CLOSED]),
    "aiohttp": (f"{PYTHON} aiohttp.prog $URL", ["certificate has expired", "unable to get local issuer", "TimeoutError", "ClientOSError|ClientConnectorError|ClientConnectorSSLError|ServerDisconnected"]),
    "curl": ("curl -sS -m $LIMIT -o /dev/null -w '%{http_code}\\n' $URL 2>&1", ["certificate has expired", "unable to get local issuer", "timed out", "unexpected eof|SSL_ERROR_SYSCALL"]),
    "node https": ("node https.prog $URL", ["CERT_HAS_EXPIRED", "UNABLE_TO_", "timed out", "ECONNRESET"]),
    "node fetch": ("node fetch.prog $URL", ["CERT_HAS_EXPIRED", "UNABLE_TO_", None, "ECONNRESET"]),
    "JDK HttpClient": (f"java -cp {BUILD}/tests/java GetClient $URL", [None, None, "HttpConnectTimeoutException", "200"]),  # it opens another connection by itself
    "HttpURLConnection": (f"java -cp {BUILD}/tests/java GetClient $URL url", [None, None, "SocketTimeoutException", "SSLHandshakeException"]),
    "wget": ("wget -q -T $LIMIT -t 1 -O got --ca-certificate=$SSL_CERT_FILE $URL && echo 200 || echo status $?", [None, None, "status 4", "status 4"]),
}


def explore(project, tls, client, faults, also=(), **members):
    """LIMIT, the patience of clients in seconds, is short only where it is waited for. Node waits twice as long, since a write is
    under way; after 6 s (hang_limit) a silence ends with a reset."""
    limit = 2 if "handshake-timeout" in faults else 30
    for name, program in PROGRAMS.items():
        project.write(f"{name}.prog", program)
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    command = f"export {trust} LIMIT={limit} URL=https://localhost:${{port:back}}/x; {client}"
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}")], [{"name": "get", "command": printing(command)}], fault_test_calls=True,
        default_faults=False, bounds={"max_faults": 1}, faults=[{"inject": [*also, *(f"tls:{fault}" for fault in faults)]}], **members))
    return project.filibuster("run", "--no-snapshot")


# Each client once, and each fault with two of them or more.
@pairs.each("name, fault", [("requests", "certificate-expired"), ("urllib", "closed-without-notify"), ("aiohttp", "unknown-ca"),
                            ("curl", "handshake-timeout"), ("node https", "certificate-expired"), ("node fetch", "closed-without-notify"),
                            ("JDK HttpClient", "closed-without-notify"), ("HttpURLConnection", "handshake-timeout"), ("wget", "closed-without-notify")])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CLIENTS)
def test_the_client_library_says_what_it_says(project, tls, name, fault):
    client, said = CLIENTS[name]
    if not shutil.which(client.split()[0]):
        pytest.skip(f"{client.split()[0]} is not there")
    expected = said[FAULTS.index(fault)]
    if expected is None:
        pytest.skip("see docs/tls.md")
    run = explore(project, tls, client, [fault])
    assert "plan not met" not in run.output and run.executed == 2, run
    *plain, faulted = [text.strip() for text in printed(run)]
    assert all(text.startswith("200") for text in plain), plain
    assert any(part in faulted for part in expected.split("|")), faulted


@pytest.mark.parametrize("fault", FAULTS[:2])
def test_gnutls_has_no_faults_of_certificates(project, tls, fault):
    run = explore(project, tls, "wget -q -T $LIMIT -t 1 -O got --ca-certificate=$SSL_CERT_FILE $URL; echo $?", [fault])
    assert run.exit_code == 3 and "how its TLS library checks certificates is not reached" in run.output, run
    assert "only OpenSSL's can be made to" in run.output, run


@pytest.mark.parametrize("fault", FAULTS[:2])
def test_a_client_that_does_not_check_is_no_pass(project, tls, fault):
    run = explore(project, tls, "curl -sS -k -m $LIMIT -o /dev/null -w '%{http_code}\\n' $URL", [fault])
    assert run.exit_code == 3 and "does not check the server's certificate" in run.output, run


def test_only_what_opens_an_encrypted_connection_has_them(project, tls):
    """The second request goes over the connection of the first one."""
    run = explore(project, tls, "curl -sS -m $LIMIT -o /dev/null -o /dev/null -w '%{http_code} ' $URL $URL; echo", ["unknown-ca"])
    assert run.executed == 2 and "plan not met" not in run.output, run
    project.write("filibuster.json", config([relay("back")], [{"name": "get", "command": "curl -sS http://127.0.0.1:${port:back}/"}], fault_test_calls=True,
                                            default_faults=False, faults=[{"inject": "tls:unknown-ca"}]))
    run = project.filibuster("run")
    assert run.executed == 1 and "does not open a connection with TLS" in run.output, run


def test_a_call_that_ended_in_its_handshake_counts_as_tested(project, tls):
    """It has the name of its request although no request was formed, and other faults of it are no riddle."""
    run = explore(project, tls, CLIENTS["urllib"][0], ["unknown-ca"], also=["refused"])
    assert run.executed == 3, run
    assert run.test["rpcs"] == {"tested": ["test -> back GET /x"], "untested": [], "by_configuration": []}, run
    assert not any("does not apply" in row["reason"] for row in run.test["skipped"]), run.test["skipped"]
