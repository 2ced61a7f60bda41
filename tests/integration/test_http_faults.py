"""docs/http-faults.md: what client libraries make of each fault of HTTP/1.1. Each line of its table is tested."""
import re
import shutil

import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON, REPOSITORY
from documents import events
from small_apps import APPS, config

DOCUMENT = REPOSITORY / "docs/http-faults.md"
OVER_TLS = REPOSITORY / "docs/tls.md"
FAULTS = ["refused", "reset", "timeout", "status:503", "latency:3s", "latency:100ms", "slow-body:200ms", "partial-message",
          "empty-message", "corrupt-message", "content-length:+10", "content-length:-10"]
URL = "http://127.0.0.1:${port:body}/"
MODULES = BUILD / "tests/clients/node_modules"
CLIENTS = {
    "requests": f"{PYTHON} {APPS}/get_client.py requests {URL}",
    "urllib": f"{PYTHON} {APPS}/get_client.py urllib {URL}",
    "aiohttp": f"{PYTHON} {APPS}/get_client.py aiohttp {URL}",
    "httpx": f"{PYTHON} {APPS}/get_client.py httpx {URL}",
    "curl": f"curl -s -o got --max-time 1 -w '%{{http_code}} %{{size_download}} %{{exitcode}}\\n' {URL}; cmp -s got whole || echo changed",
    "fetch (Node)": f"node {APPS}/node/get_client.js fetch {URL}",
    "axios": f"node {APPS}/node/get_client.js axios {URL} {MODULES}",
    "JDK HttpClient": f"java -cp {BUILD}/tests/java GetClient {URL}",
    "HttpURLConnection": f"java -cp {BUILD}/tests/java GetClient {URL} url",
    "cpp-httplib": f"{BUILD}/tests/programs/get_client {URL}",
}


def outcome(text):
    """As the table has it: 'answer', 'changed', '503', or the error."""
    words = text.strip()
    curl = re.fullmatch(r"(\d+) (\d+) (\d+)(\nchanged)?", words)
    if curl:
        status, _, code, changed = curl.groups()
        return f"exit status {code}" if code != "0" else status if status != "200" else "changed" if changed else "answer"
    answer = re.fullmatch(r"(\d+) \d+ bytes( changed)?", words)
    if not answer:
        return words
    status, changed = answer.groups()
    return status if status != "200" else "changed" if changed else "answer"


def rows_of(document, heading=""):
    """The rows of the tables of a document, or of the part under a heading."""
    text = document.read_text()
    if heading:
        text = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip().strip("`") for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def table(transport):
    """{library: {fault: outcome}}"""
    rows = rows_of(DOCUMENT)
    (head,) = [row for row in rows if row[0] == "library"]
    told = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows[rows.index(head) + 2:]}
    exceptions = rows_of(OVER_TLS, "What client libraries make of faults")[2:] if transport == "tls" else []
    for library, fault, clear, encrypted in exceptions:
        assert told[library][fault] == clear, f"{OVER_TLS.name} is not {DOCUMENT.name}"
        told[library][fault] = encrypted
    return told


# Each client once, by turns with one framing and transport or the other; over TLS those whose rows of docs/tls.md are of their own.
STAY = [("requests", "chunked", "tls"), ("urllib", "", "tls"), ("aiohttp", "chunked", "tls"), ("httpx", "", "tls"), ("curl", "", "clear"),
        ("fetch (Node)", "chunked", "clear"), ("axios", "", "clear"), ("JDK HttpClient", "chunked", "clear"),
        ("HttpURLConnection", "", "clear"), ("cpp-httplib", "", "tls")]


@pairs.each("library, framing, transport", STAY)
@pytest.mark.parametrize("transport", ["clear", "tls"])
@pytest.mark.parametrize("framing", ["", "chunked"])
@pytest.mark.parametrize("library", CLIENTS)
def test_what_a_client_makes_of_each_fault(project, tls, library, framing, transport):
    if library == "axios" and not MODULES.exists():
        pytest.skip("axios is not there (npm ci failed): its line of docs/http-faults.md was not checked")
    if " java -cp " in f" {CLIENTS[library]}" and not shutil.which("java"):
        pytest.skip("java is not there")
    (project.directory / "whole").write_text("0123456789" * 200)
    client = CLIENTS[library] if transport == "clear" else CLIENTS[library].replace("http://", "https://")
    command = f"echo \"== $FILIBUSTER_EXECUTION\" >> seen; {{ {client}; }} >> seen 2>&1; true"
    serves = f"tls={tls}" if transport == "tls" else ""
    project.write("filibuster.json", config(
        [{"name": "body", "command": f"exec {PYTHON} {APPS}/body.py ${{port:body}} {framing} {serves}"}],
        [{"name": "get", "command": command, "env": certificates.trusted(tls)}],
        fault_test_calls=True, bounds={"max_faults": 1}, faults=[{"inject": FAULTS}]))
    run = project.filibuster("run", "--json")
    assert run.exit_code == 0, run
    # What a fault makes of an answer is nothing that another program said.
    assert run.test["dependencies_not_tested"] == [], run
    faults = {event["number"]: event["faults"] for event in events(run.output) if event["type"] == "execution"}
    _, *parts = re.split(r"^== (\d+)\n", (project.directory / "seen").read_text(), flags=re.M)
    told = {faults[int(number)][0].split(": ")[-1]: outcome(text)
            for number, text in zip(parts[::2], parts[1::2], strict=True) if len(faults.get(int(number), [])) == 1}
    told = {fault.removesuffix(" (as a reset)"): what for fault, what in told.items()}
    print("|", library, "|", " | ".join(told[fault] for fault in FAULTS), "|")
    assert told == table(transport)[library], run


MANY_ADDRESSES = """
import http.client, socket, sys
found = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: [row for address in ("127.0.0.1", "127.0.0.2") for row in found(address, *rest, **more)]
try:
    connection = http.client.HTTPConnection("shop", int(sys.argv[1]), timeout=2)
    connection.request("GET", "/")
    print(connection.getresponse().status)
except OSError as error:
    print(type(error).__name__)
"""


def test_a_refusal_is_at_every_address_of_a_name(project):
    """A client tries one address after the other, and would be served at the second."""
    project.write("client.py", MANY_ADDRESSES)
    project.write("filibuster.json", config(
        [{"name": "body", "command": f"exec {PYTHON} {APPS}/body.py ${{port:body}} everywhere"}],
        [{"name": "get", "command": f"{PYTHON} client.py ${{port:body}} >> seen"}], fault_test_calls=True, faults=[{"inject": "refused"}]))
    run = project.filibuster("run")
    assert (project.directory / "seen").read_text().split() == ["200", "200", "ConnectionRefusedError", "200"], run  # and once more in the end
