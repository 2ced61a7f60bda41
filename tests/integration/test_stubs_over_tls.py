"""Stubs serve TLS with a certificate of the session, which the clients of each runtime trust without a change."""
import shutil
import ssl

import pytest

from conftest import BUILD, PYTHON
from small_apps import config, probe, relay, url

ANSWER = "from a stub"
# Nobody's name: only `hosts` finds it.
API = {"name": "api", "hosts": ["api.example.com:443"], "stubs": [
    {"method": "GET", "path": "/", "answer": {"text": ANSWER}}, {"method": "GET", "path": "/late", "answer": {"text": ANSWER, "delay": "50ms"}}]}
JAVA = """
import java.net.URI;
import java.net.http.*;
class Ask {
  public static void main(String[] all) throws Exception {
    var client = HttpClient.newBuilder().version(HttpClient.Version.valueOf(all[0])).build();
    var answer = client.send(HttpRequest.newBuilder(URI.create("https://api.example.com/")).build(), HttpResponse.BodyHandlers.ofString());
    System.out.println(answer.body() + " " + answer.version());
  }
}
"""
NODE = """
require('https').get('https://api.example.com/', answer => answer.on('data', data => process.stdout.write(data)))
"""
# What prints the answer, and the version that it prints behind it.
CLIENTS = {
    "urllib": ([PYTHON, "-c", "import urllib.request as r; print(r.urlopen('https://api.example.com/').read().decode())"], ""),
    "requests": ([PYTHON, "-c", "import requests; print(requests.get('https://api.example.com/').text)"], ""),
    "httpx": ([PYTHON, "-c", "import httpx; print(httpx.get('https://api.example.com/').text)"], ""),
    "aiohttp": ([PYTHON, "-c", """
import aiohttp, asyncio
async def ask():
    async with aiohttp.ClientSession() as session, session.get("https://api.example.com/") as answer:
        print(await answer.text())
asyncio.run(ask())"""], ""),
    "curl": (["curl", "-sS", "--http1.1", "https://api.example.com/"], ""),
    "curl of HTTP/2": (["curl", "-sS", "--http2", "-w", " %{http_version}", "https://api.example.com/"], " 2"),
    "node": (["node", "-e", NODE], ""),
    "java": (["java", "-XX:TieredStopAtLevel=1", "Ask.java", "HTTP_1_1"], " HTTP_1_1"),
    "java of HTTP/2": (["java", "-XX:TieredStopAtLevel=1", "Ask.java", "HTTP_2"], " HTTP_2"),
    "ruby": (["ruby", "-rnet/http", "-e", "puts Net::HTTP.get(URI('https://api.example.com/'))"], ""),
    "php": (["php", "-r", "$c = curl_init('https://api.example.com/'); curl_exec($c) or print(curl_error($c));"], ""),
}
MORE = {"httpx", "aiohttp", "java", "ruby", "php"}  # a further example of what another row shows


@pytest.mark.parametrize("client", [pytest.param(name, marks=[pytest.mark.whole] if name in MORE else []) for name in CLIENTS])
def test_a_client_trusts_the_certificate_of_a_stub(project, client):
    command, version = CLIENTS[client]
    if shutil.which(command[0]) is None:
        pytest.skip(f"not checked: {command[0]} is not installed")
    project.write("Ask.java", JAVA)
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
    project.write("filibuster.json", config([API], [{"name": "test", "command": f"{quoted} > said; grep -q '{ANSWER}' said"}]))
    run = project.filibuster("trace")
    assert run.exit_code == 0 and "test -> api  GET /" in run.output, run
    assert (project.directory / "said").read_text().strip() == ANSWER + version, run


def test_calls_over_tls_are_those_in_the_clear(project):
    """The same executions, but for the faults that only TLS has."""
    names = []
    for service, address in (({**API, "hosts": ["api.example.com:80"]}, "http://api.example.com/"), (API, "https://api.example.com/")):
        tests = [probe(url("front"), expected="200,500,502,503,504")]
        project.write("filibuster.json", config([service, relay("front", address, python=True)], tests))
        run = project.filibuster("run", "--restart-session")
        assert run.test["finished"], run
        names.append({case["name"] for case in run.test["cases"] if "tls" not in case["name"]})
    assert names[0] == names[1] and len(names[0]) > 3, names


def test_lanes_have_certificates_of_their_own(project):
    tests = [probe(url("front"), expected="200,500,502,503,504")]
    project.write("filibuster.json", config([API, relay("front", "https://api.example.com/", python=True)], tests))
    one = project.filibuster("run")
    two = project.filibuster("run", "--restart-session", "-j", "2")
    assert one.exit_code == two.exit_code == 0 and one.executed == two.executed > 3, (one, two)


def test_what_a_program_trusts_already_it_still_trusts(project):
    """A file of certificates that is in the environment is copied, and a relative path is the program's own affair."""
    project.write("other.pem", "# of a program\n")
    other = project.directory / "other.pem"
    service = relay("front", env={"SSL_CERT_FILE": str(other), "NODE_EXTRA_CA_CERTS": "mine.pem", "JAVA_TOOL_OPTIONS": "-Xmx1g"})
    service["command"] = "env > environment; " + service["command"]
    project.write("filibuster.json", config([API, service], [probe(url("front"))]))
    assert project.filibuster("trace").exit_code == 0
    environment = dict(line.split("=", 1) for line in (project.directory / "environment").read_text().splitlines() if "=" in line)
    copy = environment["SSL_CERT_FILE"]
    assert copy != str(other)
    text = open(copy).read()
    assert text.startswith("# of a program\n") and text.count("BEGIN CERTIFICATE") == 1, text
    ssl.create_default_context().load_verify_locations(copy)
    assert environment["NODE_EXTRA_CA_CERTS"] == "mine.pem"
    assert environment["JAVA_TOOL_OPTIONS"].startswith("-Xmx1g -Djavax.net.ssl.trustStore="), environment


def test_a_client_that_does_not_trust_it_gets_no_answer(project):
    """Certificates that are pinned by a program are its own: the handshake fails as it would with any stranger."""
    project.write("filibuster.json", config([API], [{"name": "test", "command": f"curl -sS --cacert {ssl.get_default_verify_paths().openssl_cafile} "
                                                     "https://api.example.com/ 2> said; [ $? = 60 ] || [ $? = 77 ]"}]))
    run = project.filibuster("trace")
    assert "certificate" in (project.directory / "said").read_text(), run


def test_tls_that_nobody_announced_is_named(project):
    service = {**API, "hosts": ["api.example.com"]}
    test = {"name": "test", "command": "curl -sS https://api.example.com/ || true"}
    project.write("filibuster.json", config([service], [test]))
    run = project.filibuster("trace")
    assert "a client of 'api' speaks TLS, which its stubs do not: \"tls\": true in its row serves it" in run.output + run.errors, run
    project.write("filibuster.json", config([{**service, "tls": True}], [{**test, "command": "curl -sS https://api.example.com/ http://api.example.com/"}]))
    run = project.filibuster("trace")
    assert run.exit_code == 0 and "speaks TLS" not in run.output + run.errors, run


def test_grpc_over_tls(project):
    """gRPC's C core has authorities of its own, unless its variable names others."""
    descriptors = BUILD / "corpus" / "purchase" / "shop.pb"
    if not descriptors.exists():
        pytest.skip(f"not checked: {descriptors} is not built")
    ask = """
import grpc
channel = grpc.secure_channel("user.example.com:443", grpc.ssl_channel_credentials())
try:
    channel.unary_unary("/shop.UserService/GetUser")(b"", timeout=10)
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.NOT_FOUND and error.details() == "nobody", error
else:
    raise SystemExit("answered")
"""
    user = {"name": "user", "hosts": ["user.example.com:443"],
            "stubs": [{"grpc": "shop.UserService/GetUser", "answer": {"code": "NOT_FOUND", "status_message": "nobody"}}]}
    project.write("filibuster.json", {**config([user], [{"name": "test", "command": [PYTHON, "-c", ask]}]), "descriptors": str(descriptors)})
    run = project.filibuster("trace")
    assert run.exit_code == 0 and 'NOT_FOUND "nobody"' in run.output, run


def test_redis_over_tls(project):
    """TLS below RESP."""
    ask = """
import os, redis
print(redis.Redis(host="cache.example.com", port=443, ssl=True, ssl_ca_certs=os.environ["SSL_CERT_FILE"]).get("a"))
"""
    cache = {"name": "cache", "protocol": "redis", "hosts": ["cache.example.com:443"], "stubs": [{"method": "GET", "path": "a", "answer": {"reply": "b"}}]}
    project.write("filibuster.json", config([cache], [{"name": "test", "command": [PYTHON, "-c", ask]}]))
    run = project.filibuster("trace")
    assert run.exit_code == 0 and "GET a" in run.output, run


@pytest.mark.parametrize("target", ["", "https"])
def test_who_closes_his_half_still_gets_a_delayed_answer(project, target):
    """TCP's half-close (RFC 9293 §3.6.1), and that of TLS 1.3 (RFC 8446 §6.1)."""
    ask = f"""
import os, socket, ssl
connection = socket.create_connection(("api.example.com", 443))
if {target!r}:
    connection = ssl.create_default_context().wrap_socket(connection, server_hostname="api.example.com")
connection.sendall(b"GET /late HTTP/1.1\\r\\nHost: api\\r\\nConnection: close\\r\\n\\r\\n")
socket.socket.shutdown(connection, socket.SHUT_WR)
said = b""
while piece := connection.recv(1000):
    said += piece
assert said.endswith(b"{ANSWER}"), said
"""
    project.write("filibuster.json", config([API], [{"name": "test", "command": [PYTHON, "-c", ask]}]))
    run = project.filibuster("trace")
    assert run.exit_code == 0, run
