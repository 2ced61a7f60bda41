"""HTTP/2 over TLS: streams are told apart, and faults hit one of them."""
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "http2"))

import calls
import certificates
import pairs
from conftest import BUILD, PYTHON
from rpc_tree import chains, observe_and_compare
from small_apps import config, printed, printing


def web(project, tls):
    folder = project.directory / "htdocs"
    folder.mkdir(exist_ok=True)
    (folder / "hello").write_text("hello\n")
    return {"name": "web", "command": f"exec nghttpd -a 127.0.0.1 --echo-upload -d {folder} ${{port:web}} {tls}/key.pem {tls}/cert.pem"}


PAIR = "https://localhost:${port:web}/hello https://localhost:${port:web}/none"
CLIENTS = {
    "curl": "curl -sS -m 5 --http2 -o /dev/null -o /dev/null -w '%{http_code}\\n' " + PAIR,
    "nghttp": "nghttp -v " + PAIR + " | grep -o ':status: .*'",
    "httpx": f"{PYTHON} many.py " + PAIR,
    "JDK HttpClient": f"java -cp {BUILD}/tests/java Many " + PAIR,
}
MANY = """
import asyncio, sys
import httpx
async def main():
    async with httpx.AsyncClient(http2=True, timeout=3) as client:
        for answer in await asyncio.gather(*(client.get(url) for url in sys.argv[1:]), return_exceptions=True):
            print(getattr(answer, "status_code", type(answer).__name__))
asyncio.run(main())
"""


# Each client in one of the two; what is faulted is seen, too.
@pairs.only("name", ["curl"])
@pytest.mark.parametrize("name", CLIENTS)
def test_streams_are_seen(project, tls, name):
    project.write("many.py", MANY)
    run = observe_and_compare(project, [web(project, tls)], f"export SSL_CERT_FILE={tls}/ca.pem CURL_CA_BUNDLE={tls}/ca.pem; {CLIENTS[name]}")
    assert chains(run) == ["test>web GET /hello 200", "test>web GET /none 404"], run


def test_uploads_of_curl(project, tls):
    """Its BIO has the type of a memory BIO, and is the socket."""
    url = "https://localhost:${port:web}/echo"
    post = f"curl -sS -m 5 --http2 --cacert {tls}/ca.pem"
    run = observe_and_compare(project, [web(project, tls)], f"for n in 1 2 3 4 5 6 7 8 9 10; do {post} -d n=$n {url}; echo; {post} --data-binary @{tls}/ca.pem {url}; done")
    assert chains(run) == ["test>web POST /echo 200"] * 20, run


# The cheapest; what goes over TLS in the JDK is in test_tls_of_the_jvm.py, and what nghttp makes of faults in http2/test_plain_stream_faults.py.
@pairs.only("name", ["httpx"])
@pytest.mark.parametrize("name", CLIENTS)
def test_one_of_two_streams_fails(project, tls, name):
    project.write("many.py", MANY)
    # httpx ends all requests of a connection with its first GOAWAY.
    inject = ["status:503", "stream-reset", "timeout", "status:500:after", "latency:50ms"] + ["goaway"] * (name != "httpx")
    project.write("filibuster.json", config(
        [web(project, tls)], [{"name": "get", "command": printing(CLIENTS[name]), "env": certificates.trusted(tls)}],
        default_faults=False, bounds={"max_faults": 1}, faults=[{"on": {"caller": "test", "path": "/none"}, "inject": inject}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 1 + len(inject), run
    print(name, [text.split() for text in printed(run)])
    told = [text.split() for text in printed(run)]
    assert all("200" in words for words in told), told


GRPC_FAULTS = ["grpc:UNAVAILABLE", "grpc:INTERNAL:after", "stream-reset", "partial-message", "no-trailers", "latency:50ms"]


def test_grpc_of_cpp(project, tls):
    """Debian's libgrpc: its OpenSSL has a pair of BIOs in memory, which libgrpc fills and empties."""
    environment = {"TLS": str(tls), "GRPC_VERBOSITY": "ERROR"}
    services = [{**calls.server(), "env": environment}]
    command = f"export TLS={tls}; {calls.client('kinds').replace('calls_client ', 'calls_client localhost:')}"
    run = observe_and_compare(project, services, command)
    assert (project.directory / "printed").read_text() == calls.KINDS, run
    assert chains(run) == sorted(["test>calls POST /calls.Calls/Double 200"] * 2 + [
        f"test>calls POST /calls.Calls/{name} 200" for name in ("Sum", "Count", "Negate")]), run


# How each fault of gRPC ends is in http2/test_stream_faults.py: here one before, one after the effect, and one between messages.
@pairs.only("fault", ["stream-reset", "grpc:INTERNAL:after", "partial-message"])
@pytest.mark.parametrize("fault", GRPC_FAULTS)
def test_faults_of_grpc(project, tls, fault):
    services = [{**calls.server(), "env": {"TLS": str(tls)}}]
    client = calls.client("kinds").replace("calls_client ", "calls_client localhost:")
    project.write("filibuster.json", config(
        services, [{"name": "kinds", "command": printing(client), "env": {"TLS": str(tls)}}], default_faults=False,
        bounds={"max_faults": 1}, faults=[{"on": {"caller": "test", "grpc": "calls.Calls/Count"}, "inject": fault}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 2, run
    plain, *_, faulted = (text.splitlines() for text in printed(run))
    assert [line for line in faulted if not line.startswith("count")] == [line for line in plain if not line.startswith("count")], run
    print(fault, [line for line in faulted if line.startswith("count")])
