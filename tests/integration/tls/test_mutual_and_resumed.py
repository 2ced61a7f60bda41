"""Servers that check their clients, and sessions that are resumed: nothing of the handshake is ours."""
import pytest

from conftest import PYTHON
from rpc_tree import chains, observe_and_compare
from small_apps import config, printed, printing

SERVER = """
import http.server, ssl, sys
port, tls, version, mutual = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "mutual"
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        subject = (self.connection.getpeercert() or {}).get("subject", ())
        body = f"{self.connection.version()} {self.connection.session_reused} {dict(pair for entry in subject for pair in entry)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
context.load_cert_chain(tls + "/cert.pem", tls + "/key.pem")
if mutual:
    context.load_verify_locations(tls + "/ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
"""
# Two connections; the second one resumes the session of the first.
CLIENT = """
import http.client, socket, ssl, sys
port, tls = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile=tls + "/ca.pem")
context.load_cert_chain(tls + "/cert.pem", tls + "/key.pem")
session = None
for path in ("/first", "/second"):
    connection = http.client.HTTPConnection("localhost", port)
    try:
        connection.sock = context.wrap_socket(socket.create_connection(("localhost", port), timeout=1), server_hostname="localhost", session=session)
        connection.request("GET", path)
        answer = connection.getresponse()
        print(answer.status, answer.read().decode()[:60])
        session = connection.sock.session
        print("resumed" if connection.sock.session_reused else "new")
    except (OSError, http.client.HTTPException) as error:
        print(type(error).__name__)
    connection.close()
"""


def server(project, tls, version, mutual):
    project.write("server.py", SERVER)
    project.write("client.py", CLIENT)
    return [{"name": "back", "command": f"exec {PYTHON} server.py ${{port:back}} {tls} {version} {mutual}"}]


@pytest.mark.parametrize("mutual", ["mutual", "one-sided"])
@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_they_are_as_without_us(project, tls, version, mutual):
    run = observe_and_compare(project, server(project, tls, version, mutual), f"{PYTHON} client.py ${{port:back}} {tls}")
    assert chains(run) == ["test>back GET /first 200", "test>back GET /second 200"], run
    told = (project.directory / "printed").read_text()
    assert "new" in told and "resumed" in told and ("localhost" in told) == (mutual == "mutual"), told


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_faults_of_a_resumed_session(project, tls, version):
    project.write("filibuster.json", config(
        server(project, tls, version, "mutual"), [{"name": "get", "command": printing(f"{PYTHON} client.py ${{port:back}} {tls}")}], fault_test_calls=True,
        default_faults=False, bounds={"max_faults": 1}, faults=[{"on": {"path": "/second"}, "inject": ["status:503", "reset", "timeout:after", "latency:50ms"]}]))
    run = project.filibuster("run", "--no-snapshot")
    assert "plan not met" not in run.output and run.executed == 5, run
    faulted = [text.split("\n") for text in printed(run)[-4:]]
    assert all(lines[0].startswith("200") and lines[1] == "new" for lines in faulted), faulted
    assert sum(lines[2].startswith("200") for lines in faulted) == 1 and sum(lines[2].startswith("503") for lines in faulted) == 1, faulted
