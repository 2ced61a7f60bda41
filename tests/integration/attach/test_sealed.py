"""TLS that nobody decrypts, behind filibuster-proxy: its connections are refused, reset, silent and late. What the client sees is
its library's own error."""
import json
import shutil

import pytest

import certificates
import pairs
from conftest import PYTHON
from proxied import behind_proxy, out, own
from small_apps import APPS, config, printed, printing, relay, url
from test_faults import explore

FAULTS = ["refused", "reset", "timeout", "latency:100ms", "tls:handshake-timeout", "tls:closed-without-notify"]
SERVED = '{"failed": 0}'
# What a client prints under each of them. A refusal reaches an attached client as a reset, which it meets in the handshake.
# Python's ssl takes a reset for the end of the stream (docs/tls.md), and undici waits 10 s for a handshake.
CLIENTS = {
    "requests": (["reset ConnectionError", "ConnectionError", "timeout ReadTimeout", SERVED, "timeout ", "SSLError"],
                 f"{PYTHON} {APPS}/caller.py requests"),
    "curl": (["exit 35", "exit 56", "exit 28", SERVED, "exit 28", "exit 35"], "curl -sS --max-time 1"),
    "fetch": (["ECONNRESET", "ECONNRESET|UND_ERR_SOCKET", "TimeoutError", SERVED, None, "ECONNRESET"], "node ask.js"),
}
ASK = ("fetch(process.argv[2], {signal: AbortSignal.timeout(1000)}).then(async r => console.log(await r.text()),"
       "e => console.log(e.name + ' ' + (e.cause && e.cause.code)))")


def services(tls, command):
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    return [relay("back", options=f"--tls {tls}"),
            behind_proxy("front", "back", f"env {trust} {PYTHON} {APPS}/asker.py {own('front')} {command}")]


def https(path="/x"):
    return out("front", path).replace("http:", "https:")


# What the proxy does is the same for each client.
@pairs.only("client", ["curl"])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_makes_of_each_fault_that_needs_no_key(project, tls, client):
    said, command = CLIENTS[client]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"NOT TESTED: {command.split()[0]} is not installed")
    command = command.replace("ask.js", str(project.write("ask.js", ASK)))
    project.write("none", "")
    expected = {fault: text for fault, text in zip(FAULTS, said, strict=True) if text is not None}
    _, seen = explore(project, services(tls, f"{command} {https()}"), f"curl -sS {url('front')}", list(expected),
                      on={"service": "back", "caller": "front"}, received="none")
    assert SERVED in seen.pop("")["output"], seen
    assert {fault for fault, text in expected.items() if not any(part in seen[fault]["output"] for part in text.split("|"))} == set(), seen


def test_faults_that_need_an_answer_are_named_as_not_tested(project, tls):
    project.write("filibuster.json", config(
        services(tls, f"curl -sS {https()}"), [{"name": "ask", "command": f"curl -sS {url('front')}"}],
        faults=[{"on": {"service": "back"}, "inject": ["status:503", "timeout:after", "tls:unknown-ca"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and run.executed == 1, run
    for fault in ("status:503", "timeout:after"):
        assert f"{fault} at front -> back TLS: does not apply: not tested: encrypted" in run.output, run
    (row,) = [row for row in run.test["dependencies_not_tested"] if row["service"] == "front"]
    assert row["target_service"] == "back" and row["reason"].startswith("encrypted"), row


@pytest.mark.parametrize("faults", [["latency:50ms", "timeout", "reset"], ["reset", "timeout", "latency:50ms"]], ids=["late last", "late first"])
def test_a_connection_that_is_kept_has_one_rpc_in_each_execution(project, tls, faults):
    """The client keeps its connection over all executions in which nothing happens to it, or only a delay."""
    program = project.write("keeps.py", """
import http.server, requests, sys
session = requests.Session()

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            body = "".join(session.get(sys.argv[2], timeout=1).text for _ in range(2)).encode()
        except requests.RequestException as error:
            body = type(error).__name__.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
""")
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}"), behind_proxy("front", "back", f"env {trust} {PYTHON} {program} {own('front')} {https()}")],
        [{"name": "ask", "command": printing(f"curl -sS {url('front')}")}], default_faults=False,
        faults=[{"on": {"service": "back"}, "inject": faults}],
        bounds={"max_faults": 1, "reference_executions": 3}))
    run = project.filibuster("run", "--no-snapshot")
    assert run.exit_code == 0 and "plan not met" not in run.output, run
    (call,) = [rpc for rpc in run.test["reference"] if rpc["caller"] == "front"]
    assert call["protocol"] == "tls" and call["method"] == "TLS", call
    assert sum("ReadTimeout" in text for text in printed(run)) == 1 and sum("ConnectionError" in text for text in printed(run)) == 1, printed(run)


def test_a_finding_replays(project, tls):
    check = f"! curl -sS {url('front')} | grep -q 'exit 28'"
    project.write("filibuster.json", config(services(tls, f"curl -sS --max-time 1 {https()}"), [{"name": "ask", "command": check}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["caller"], fault["service"], fault["method"], fault["protocol"], fault["fault"]) == ("front", "back", "TLS", "tls", "timeout"), run
    again = project.filibuster("replay", str(run.root / "counterexamples" / "1.json"))
    assert again.exit_code == 1, again


# What happens over a connection (apps/told.py), and the RPCs of it.
TOLD = {
    "two": [("GET", "/a", "ok:201"), ("GET", "/b", "status:503")],
    "together": [("GET", "/a", "timeout"), ("GET", "/b", "ok:200")],
    "body": [("GET", "/a", "ok:200")],
    "own": [("GET", "/a", "ok:200")],
    "lost": [("GET", "/a", "ok:0"), ("TLS", "", "ok:0")],
}


@pytest.mark.parametrize("what", TOLD)
def test_requests_that_the_observer_sees_above_the_encryption_are_rpcs(project, tls, what):
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}"),
         behind_proxy("web", "back", f"{PYTHON} {APPS}/told.py {own('web')} ${{port:web-out}} {tls}/ca.pem")],
        [{"name": "ask", "command": f"curl -sSf {url('web', '/' + what)}"}]))
    trace = project.filibuster("trace", "--json")
    assert trace.exit_code == 0, trace
    rpcs = [rpc for rpc in json.loads(trace.output.splitlines()[-1])["trace"]["rpcs"] if rpc["caller"] == "web"]
    assert [(rpc["method"], rpc["path"], ":".join(rpc["outcome"].split(":")[:2])) for rpc in rpcs] == TOLD[what], rpcs
    assert {rpc["protocol"] for rpc in rpcs} == {"tls"}, rpcs
