"""What is no HTTP/1 passes untouched and is listed as not tested."""
import glob
import shutil
import socket
import threading

import pytest

import certificates
from conftest import BUILD, PYTHON
from small_apps import APPS, config, probe, relay, url


def dependencies(run, caller):
    return {row["target_service"] or row["peer"]: row for row in run.test["dependencies_not_tested"]
            if row["service"] == caller and row["outgoing"]}


TEXT_SERVER = '''
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            if line.startswith(b"GARBAGE"):
                self.wfile.write(bytes(range(256)) * 40 + b"\\n.end\\n")
            else:
                self.wfile.write(b"you said " + line)
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''

# Answers 200 only if every byte of the other protocol came through as it was sent.
TEXT_CLIENT = '''
import http.client, http.server, socket, sys
back, text = int(sys.argv[2]), int(sys.argv[3])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with socket.create_connection(("127.0.0.1", text), timeout=5) as s:
            lines = s.makefile("rwb")
            lines.write(b"HELO here\\n"); lines.flush()
            first = lines.readline()
            lines.write(b"GARBAGE\\n"); lines.flush()
            rest = b""
            while not rest.endswith(b"\\n.end\\n"): rest += lines.read1(65536)
        good = first == b"you said HELO here\\n" and rest == bytes(range(256)) * 40 + b"\\n.end\\n"
        c = http.client.HTTPConnection("127.0.0.1", back, timeout=1)
        try:
            c.request("GET", "/"); status = c.getresponse().status
        except OSError:
            status = 503
        self.send_response(500 if not good else 200 if status == 200 else 503)
        self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_a_peer_with_another_protocol_passes_untouched_and_is_listed(project):
    project.write("text.py", TEXT_SERVER)
    project.write("front.py", TEXT_CLIENT)
    project.write("filibuster.json", config(
        [relay("back"), {"name": "text", "command": f"exec {PYTHON} text.py ${{port:text}}"},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:back}} ${{port:text}}"}],
        [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert run.executed == 6, run
    assert "text" in dependencies(run, "front"), run.test["dependencies_not_tested"]
    assert dependencies(run, "front")["text"]["times"] >= 6
    assert "front -> text" in run.output, run


UDP_CLIENT = '''
import http.server, socket, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("127.0.0.1", int(sys.argv[2]) ^ 1))  # which address leads there? nothing is sent
            s.settimeout(5)
            if sys.argv[3] == "connect":
                s.connect(("127.0.0.1", int(sys.argv[2])))
                s.send(b"counter:1")
            else:
                s.sendto(b"counter:1", ("127.0.0.1", int(sys.argv[2])))
            good = s.recv(100) == b"counted counter:1"
        self.send_response(200 if good else 500)
        self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


@pytest.mark.parametrize("how", ["connect", "sendto"])
def test_a_udp_dependency_passes_untouched_and_is_listed(project, how):
    project.write("front.py", UDP_CLIENT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]

        def serve():
            while True:
                text, peer = server.recvfrom(100)
                if text == b"end":
                    return
                server.sendto(b"counted " + text, peer)
        thread = threading.Thread(target=serve)
        thread.start()
        project.write("filibuster.json", config(
            [{"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} {port} {how}"}],
            [probe(url("front"))]))
        run = project.filibuster("run")
        server.sendto(b"end", ("127.0.0.1", port))
        thread.join()
    assert run.exit_code == 3, run
    row = dependencies(run, "front")[f"127.0.0.1:{port}"]
    assert "udp" in row["reason"].lower(), row
    assert f"127.0.0.1:{port ^ 1}" not in dependencies(run, "front"), run


TLS_CLIENT = '''
import http.server, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        good = subprocess.run([*sys.argv[3:], "GetClient", f"https://localhost:{sys.argv[2]}/"], capture_output=True).stdout.startswith(b"200")
        self.send_response(200 if good else 500); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_what_another_tls_library_encrypts_passes_untouched_and_is_listed(project, tls):
    """A version of the JDK that is not edited. OpenSSL, GnuTLS and JDK 17 are followed: see the folder tls."""
    java = next((java for java in sorted(glob.glob("/usr/lib/jvm/*/bin/java")) if "17" not in java), None)
    if java is None:
        pytest.skip("there is no JDK that is not of version 17: what it encrypts was not checked")
    project.write("front.py", TLS_CLIENT)
    project.write("filibuster.json", config(
        [{"name": "vault", "command": f"exec {PYTHON} {APPS}/body.py ${{port:vault}} tls={tls}"},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:vault}} {java} -cp {BUILD}/tests/java",
          "env": certificates.trusted(tls)}],
        [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert dependencies(run, "front")["vault"]["reason"].startswith("tls"), run.test["dependencies_not_tested"]


def test_a_database_passes_untouched_and_is_listed(project):
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project.write("front.py", TEXT_CLIENT.replace("HELO here", "PING").replace("you said PING", "+PONG\\r")
                  .replace('lines.write(b"GARBAGE\\n"); lines.flush()', "")
                  .replace('while not rest.endswith(b"\\n.end\\n"): rest += lines.read1(65536)',
                           'rest = bytes(range(256)) * 40 + b"\\n.end\\n"'))
    project.write("filibuster.json", config(
        [relay("back"), {"name": "redis", "command": f"exec {server} --port ${{port:redis}} --save ''"},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:back}} ${{port:redis}}"}],
        [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 6, run
    assert "redis" in dependencies(run, "front"), run.test["dependencies_not_tested"]
