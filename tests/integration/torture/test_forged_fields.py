"""Fields of ours that a client from outside sends: they reach the server as they were sent, and no fault and no cause follows from them."""
import json
import socket
import subprocess

from conftest import PROGRAMS, PYTHON, accepts, free_port, wait_until
from rpc_tree import observe
from small_apps import config, relay, url

NAME = "x-filibuster"
ZEROS = f"1-{'0' * 8}-{'0' * 4}-{'0' * 8}-{'0' * 16}-{'0' * 32}"
ONES = f"1-{'f' * 8}-{'f' * 4}-{'f' * 8}-{'f' * 16}-{'f' * 32}"
OTHER = "1-01234567-0001-00000001-0000000100000001-0123456789abcdef0123456789abcdef"
RUNTIME = [f"{body}{value[1:]}-{'0123456789abcdef'}" for body in "123" for value in (ZEROS, ONES, OTHER)]


def forged(session=None):
    """Lists of values, one field for each. `session`: what a real field begins with, "1-SESSION-LANE-EXECUTION"."""
    values = [[ZEROS], [ONES], [OTHER], *([value] for value in RUNTIME), [OTHER.upper()], ["2" + OTHER[1:]], ["9" + OTHER[1:]], ["0" + OTHER[1:]],
              [""], ["1"], ["1-"], [OTHER[:-1]], [OTHER + "0"], ["1-" + "x" * (len(OTHER) - 2)], [OTHER.replace("-", "_")],
              ["%n%s" * 20], ["\xff" * 76], [OTHER, ZEROS], [ZEROS, OTHER], [OTHER, OTHER], [OTHER] * 50, ["1-" + "0" * 6000], ["a" * 30000],
              [OTHER + ", " + ONES]]
    if session:
        rest = ["0000000100000001", "ffffffffffffffff", "0000000000000000"]
        values += [[f"{session}-{rpc}-{'0' * 32}"] for rpc in rest]
        values += [[f"{session[:-8]}{execution}-{rpc}-{'0' * 32}"] for execution in ("00000000", "ffffffff") for rpc in rest]
        values += [[f"{session}-{rest[0]}-{'0' * 32}", OTHER]]
    return values


def request(values):
    fields = "".join(f"{NAME if i % 2 == 0 else NAME.upper()}: {value}\r\n" for i, value in enumerate(values))
    return f"GET /forged HTTP/1.1\r\nHost: localhost\r\n{fields}Connection: keep-alive\r\n\r\n".encode("latin-1")


def echoed(port, data):
    """The body of the answer: what the server read."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
        peer.sendall(data)
        text = b""
        while b"\r\n\r\n" not in text or len(text) < text.index(b"\r\n\r\n") + 4 + len(data):
            part = peer.recv(65536)
            if not part:
                return text
            text += part
        return text[text.index(b"\r\n\r\n") + 4:]


def test_what_a_client_forges_arrives_as_without_us(project):
    """Also with the number of the session and of the execution, which everybody sees whom we call."""
    port = free_port()
    hold = project.write("hold", "")
    test = f"curl -sSf {url('echo', '/real')} > seen && mv seen real && while [ -e hold ]; do sleep 0.05; done"
    project.write("filibuster.json", config(
        [{"name": "echo", "command": f"exec {PROGRAMS}/http_echo_server threads {port}", "ports": {"echo": port}}],
        [{"name": "client", "command": test}]))
    process = project.start("trace")
    wait_until(lambda: (project.directory / "real").exists(), "the test called")
    (real,) = [line.split(": ")[1] for line in (project.directory / "real").read_bytes().decode().split("\r\n") if line.startswith(NAME)]
    try:
        for values in [*forged("-".join(real.split("-")[:4])), [real], [real, real]]:
            data = request(values)
            assert echoed(port, data) == data, values
    finally:
        hold.unlink()
    output, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 3) and "GET /real" in output, errors

    plain_port = free_port()
    plain = subprocess.Popen([f"{PROGRAMS}/http_echo_server", "threads", str(plain_port)], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: accepts(plain_port), "the echo server listens")
        for values in forged():
            assert echoed(plain_port, request(values)) == request(values)
    finally:
        plain.kill()
        plain.wait()


FORGER = '''
import http.client, json, sys
answers = []
for values in json.load(open(sys.argv[2])):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    connection.putrequest("GET", "/")
    for value in values:
        connection.putheader("x-filibuster", value.encode("latin-1"))
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    answers.append(answer.status)
    connection.close()
assert set(answers) == {200}, answers
'''


def seen(run):
    return sorted((rpc["caller"], rpc["service"], rpc["method"], rpc["path"], rpc["status"], rpc["cause"]) for rpc in run.test["reference"])


def test_a_request_with_a_forged_field_is_one_without_a_field(project):
    """As causes go, and faults. A test's client that has no agent sends them: they are the test's calls."""
    values = [each for each in forged() if sum(map(len, each)) < 5000]
    project.write("forger.py", FORGER)
    runs = []
    for name, sent in (("none", [[] for _ in values]), ("forged", values)):
        project.write(f"{name}.json", json.dumps(sent))
        command = f"env -u LD_PRELOAD {PYTHON} forger.py ${{port:front}} {name}.json"
        runs.append(observe(project, [relay("back"), relay("front", "back")], command, complete=False))
    assert len(seen(runs[0])) == 2 * len(values)
    assert seen(runs[1]) == seen(runs[0])
    assert any("forged or damaged" in note for note in runs[1].test["notes"]), runs[1].test["notes"]
