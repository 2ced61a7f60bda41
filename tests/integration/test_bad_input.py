"""What bad input gets: named at once with a way out and the right exit code, never ignored."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from conftest import PYTHON, free_port, wait_until
from small_apps import APPS, config, pair, probe, relay, url

NOBODY = 65534


def alive(pid):
    """Does the process run (a zombie does not)?"""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def owned(project):
    """{name: pid} of the processes that the daemon of the project started."""
    try:
        rows = json.loads((project.root / "processes.json").read_text())["processes"]
    except (OSError, ValueError):
        return {}
    return {row["name"]: row["pid"] for row in rows}


def events(process):
    for line in process.stdout:
        yield json.loads(line)


def executed_ids(lines):
    return [tuple(sorted(event["faults"])) for event in lines if event["type"] == "execution"]


# --- configuration ---------------------------------------------------------------------------

@pytest.mark.parametrize("text, place, message", [
    ('{"version": 1,\n "tests": [}', "filibuster.json:2:12", ""),
    ('{"version": 2,\n "tests": [{"name": "t", "command": "true"}]}', "filibuster.json:1:13", "expected 1"),
    ('{"version": 1,\n "test": [],\n "tests": [{"name": "t", "command": "true"}]}',
     "filibuster.json:2:2", "tests"),
    ('{"version": 1,\n "tests": [{"name": "t",\n  "command": "./t ${port:user}"}],\n'
     ' "services": [{"name": "users", "command": "true"}]}', "filibuster.json:3:19", "'${port:users}'"),
    ('{"version": 1, "tests": [{"name": "t", "command": "true"}],\n'
     ' "faults": [{"inject": ["teapot"]}]}', "filibuster.json:2:25", "teapot"),
    ('{"version": 1, "tests": [{"name": "t", "command": 5}]}', "filibuster.json:1:51", "array of arguments"),
    ('{"version": 1}', "filibuster.json:1:1", "tests"),
], ids=["syntax", "version", "unknown-key", "unknown-port", "unknown-fault", "type", "missing"])
def test_an_invalid_configuration_is_named_by_file_line_and_column(project, text, place, message):
    project.write("filibuster.json", text)
    run = project.filibuster("run")
    assert run.exit_code == 2, run
    assert run.errors.startswith(place + ": "), run
    assert message in run.errors, run
    assert not (project.root / "report.json").exists()


def test_all_errors_of_a_configuration_are_shown_at_once(project):
    project.write("filibuster.json", '{"version": 1, "tests": [{"name": "t", "command": 5}],\n "reduce": "no"}')
    run = project.filibuster("run")
    assert run.exit_code == 2
    assert "filibuster.json:1:51: " in run.errors and "filibuster.json:2:12: " in run.errors, run


def test_a_file_that_cannot_be_read_is_named(project):
    project.directory.joinpath("folder.json").mkdir()
    for file in ("absent.json", "folder.json"):
        run = project.filibuster("run", "-c", file)
        assert run.exit_code == 2 and file in run.errors, run


# --- services --------------------------------------------------------------------------------

def test_a_service_that_does_not_start_is_named_with_the_end_of_its_log(project):
    project.write("filibuster.json", config(
        [{"name": "broken", "command": "echo first; echo the disk is full >&2; exit 9"}],
        [probe(url("broken"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "'broken'" in run.errors and "the disk is full" in run.errors and "9" in run.errors, run


def test_a_service_whose_program_does_not_exist_is_named(project):
    project.write("filibuster.json", config(
        [{"name": "absent", "command": ["./no-such-program"]}], [probe(url("absent"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "'absent'" in run.errors and "No such file" in run.errors, run


@pytest.mark.parametrize("ready, waited_for", [
    ({"timeout": 0.4, "tcp": True}, "port "),
    ({"timeout": 0.4, "http": "/health"}, "/health"),
    ({"timeout": 0.4, "log": "listening"}, "'listening'"),
], ids=["tcp", "http", "log"])
def test_a_service_that_never_becomes_ready_is_named_with_the_end_of_its_log(project, ready, waited_for):
    project.write("filibuster.json", config(
        [{"name": "slow", "command": "echo waiting for the moon; exec sleep 300", "ready": ready}],
        [probe(url("slow"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'slow'", "did not become ready", "waiting for the moon", waited_for):
        assert expected in run.errors, run
    assert owned(project) == {}, "the service was left running"


def test_a_port_in_use_is_named_with_its_holder(project):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        project.write("filibuster.json", config(
            [{"name": "users", "command": f"exec {PYTHON} {APPS}/relay.py {port}", "ports": {"users": port}}],
            [probe(url("users"))]))
        run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'users'", str(port), "in use", f"pid {os.getpid()}"):
        assert expected in run.errors, run


# --- the test --------------------------------------------------------------------------------

def test_a_reference_execution_that_fails_shows_the_tests_output(project):
    project.write("filibuster.json", config([relay("back")], [
        {"name": "t", "command": "echo expected a green hat; exit 4"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    for expected in ("'t'", "without any fault", "exit status 4", "expected a green hat"):
        assert expected in run.errors, run


def test_a_test_without_any_rpc_is_an_error_with_hints(project):
    project.write("filibuster.json", config([relay("back")], [{"name": "idle", "command": "true"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "no RPC was seen" in run.errors and "'idle'" in run.errors, run
    assert "statically linked" in run.errors and "TLS" in run.errors, run


# --- programs that cannot be interposed --------------------------------------------------------

STATIC_SERVER = r"""
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  if (bind(fd, (struct sockaddr*)&at, sizeof at) != 0 || listen(fd, 16) != 0) return 1;
  const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  char request[4096];
  for (;;) {
    const int c = accept(fd, NULL, NULL);
    if (c < 0) return 1;
    if (read(c, request, sizeof request) > 0 && write(c, answer, strlen(answer)) < 0) return 1;
    close(c);
  }
}
"""


def compile_server(directory, *flags):
    source = directory / "server.c"
    source.write_text(STATIC_SERVER)
    binary = directory / "server"
    subprocess.run(["gcc", "-O1", *flags, "-o", binary, source], check=True)
    return binary


def explore_native(project):
    project.write("filibuster.json", config(
        [{"name": "native", "command": "exec ./server ${port:native}"}, relay("front", "native")],
        [probe(url("front"), expected="200,503")]))
    return project.filibuster("run")


def named_before_the_start(run, *words):
    warnings = [line for line in run.errors.splitlines() if line.startswith("warning: ")]
    (warning,) = [line for line in warnings if "'native'" in line]
    assert all(word in warning for word in words), run
    assert run.errors.index(warning) < run.errors.index("service native ready"), run
    assert any("'native'" in note and words[0] in note for note in run.test["notes"]), run.test


def test_a_static_program_is_named_before_it_starts_and_in_the_report(project):
    compile_server(project.directory, "-static")
    run = explore_native(project)
    assert run.exit_code == 0, run
    named_before_the_start(run, "static", "server")
    assert run.executed == 6, "a call to it can still be faulted: its caller is preloaded"


def test_a_setuid_program_is_named_before_it_starts_and_in_the_report(project):
    if os.getuid() != 0:
        pytest.skip("needs root to make a program setuid to another user")
    binary = compile_server(project.directory)
    os.chown(binary, NOBODY, NOBODY)
    binary.chmod(0o4755)
    for parent in project.directory.parents:
        if parent.stat().st_uid == os.getuid() and parent != pathlib.Path("/") and parent != pathlib.Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    run = explore_native(project)
    assert run.exit_code == 0, run
    named_before_the_start(run, "setuid", "server")


def test_a_go_program_is_named_before_it_starts_and_in_the_report(project):
    # Go's linker leaves this section in every program (debug/buildinfo); no Go compiler is needed for it.
    binary = compile_server(project.directory)
    project.write("buildinfo", "\xff Go buildinf:")
    subprocess.run(["objcopy", "--add-section", ".go.buildinfo=buildinfo", binary], cwd=project.directory, check=True)
    run = explore_native(project)
    assert run.exit_code == 0, run
    named_before_the_start(run, "Go program", "server")


# --- interruptions -----------------------------------------------------------------------------

def chain(*names, options="", faults=("refused", "500", "502", "503"), expected="200,503"):
    """front calls each of `names`, all of them soft: many combinations."""
    return config([*(relay(name) for name in names), relay("front", *names, options=options)],
                  [probe(url("front"), expected=expected)],
                  faults=[{"inject": list(faults)}])


def test_ctrl_c_stops_the_services_and_the_same_command_continues(project):
    project.write("filibuster.json", chain("a", "b", options="--tolerate 9"))
    whole = project.filibuster("run", "--no-reduction")
    assert whole.exit_code == 0 and whole.executed == 25, whole

    process = project.start("run", "--no-reduction", "--json")
    first = []
    for event in events(process):
        first.append(event)
        if event["type"] == "execution" and event["executed"] >= 5 and process.poll() is None:
            pids = owned(project)
            process.send_signal(signal.SIGINT)
            break
    first += list(events(process))
    assert process.wait(timeout=30) == 3
    assert {"a", "b", "front"} <= set(pids)
    wait_until(lambda: not any(alive(pid) for pid in pids.values()), "the services are gone")
    wait_until(lambda: not (project.root / "daemon.json").exists(), "the daemon is gone")
    assert "continues" in first[-1]["summary"], first[-1]
    before = executed_ids(first)
    assert 5 <= len(before) + 1 < 25

    process = project.start("run", "--no-reduction", "--json")
    second = list(events(process))
    assert process.wait(timeout=60) == 0
    assert any(event["type"] == "session" and event["resumed"] for event in second)
    after = executed_ids(second)
    # The reference execution is no `execution` event, and is made once more to see that all is well.
    assert 1 + len(before) + len(after) == 25
    assert set(before).isdisjoint(after) and len(set(before + after)) == 24
    assert json.loads((project.root / "report.json").read_text())["tests"][0]["counts"]["executed"] == 25


def test_ctrl_c_says_how_to_go_on(project):
    project.write("filibuster.json", chain("a", "b", options="--tolerate 9"))
    process = project.start("run", "--no-reduction")
    said = []
    for line in process.stderr:
        said.append(line)
        if " executed, " in line:
            process.send_signal(signal.SIGINT)
            break
    said += process.stderr.readlines()
    output = process.stdout.read()
    assert process.wait(timeout=30) == 3
    assert "run the same command again to continue" in "".join(said)
    assert "NOT FINISHED" in output and "continues" in output


def test_ctrl_c_while_a_service_starts_ends_it(project):
    project.write("filibuster.json", config(
        [{"name": "slow", "command": "exec sleep 300", "ready": {"tcp": True, "timeout": 60}}],
        [probe(url("slow"))]))
    process = project.start("run", "--json")
    pids = wait_until(lambda: owned(project), "the service was started")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 3
    assert not alive(pids["slow"])


def test_a_killed_command_line_takes_its_daemon_and_the_services_with_it(project):
    made = chain("a", "b", options="--tolerate 9")
    # A service of several processes: all of them belong to the session.
    made["services"][0]["command"] = "sleep 300 & echo $! > child; " + made["services"][0]["command"]
    project.write("filibuster.json", made)
    process = project.start("run", "--no-reduction", "--json")
    for event in events(process):
        if event["type"] == "execution":
            break
    daemon, pids = project.daemon()["pid"], owned(project)
    child = int((project.directory / "child").read_text())
    process.kill()
    process.wait()
    assert {"a", "b", "front"} <= set(pids)
    wait_until(lambda: not any(alive(pid) for pid in [daemon, child, *pids.values()]), "all of them are gone")
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0 and "continuing 'probe'" in run.errors and run.executed == 25, run


def test_ctrl_c_does_not_wait_for_the_preparation_of_an_execution(project):
    made = pair(hooks={"before_execution": "echo $$ > pid; exec sleep 300"})
    project.write("filibuster.json", made)
    process = project.start("run")
    written = project.directory / "pid"
    wait_until(lambda: written.exists() and written.read_text().endswith("\n"), "the hook runs")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 3
    assert not alive(int(written.read_text()))
    assert "run the same command again to continue" in process.stderr.read()


def test_a_second_ctrl_c_leaves_at_once(project):
    made = pair(faults=[{"inject": "503"}])
    made["tests"][0]["command"] = "touch started; exec sleep 300"
    made["hooks"] = {"after_execution": "touch after; until [ -e go ]; do sleep 0.01; done"}
    project.write("filibuster.json", made)
    process = project.start("run")
    wait_until(lambda: (project.directory / "started").exists(), "the test runs")
    pids = owned(project)
    process.send_signal(signal.SIGINT)
    # The test was ended; now a hook of the user keeps the session from its end.
    wait_until(lambda: (project.directory / "after").exists(), "the hook runs")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 3
    assert "Ctrl-C again leaves at once" in process.stderr.read()
    assert {"back", "front", "test"} <= set(pids)
    project.write("go", "")
    wait_until(lambda: not any(alive(pid) for pid in pids.values()), "services and test are gone")


def get(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_killed_daemon_leaves_services_without_faults_and_the_same_command_continues(project):
    front = free_port()
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("front", "a", "b", ports={"front": front}, options="--tolerate 9")],
        [probe(url("front"))], faults=[{"inject": ["refused", "500", "503"]}]))
    process = project.start("run", "--no-reduction", "--json")
    first = []
    for event in events(process):
        first.append(event)
        if event["type"] == "execution" and event["executed"] >= 4:
            break
    daemon, pids = project.daemon()["pid"], owned(project)
    os.kill(daemon, signal.SIGKILL)
    first += list(events(process))
    assert process.wait(timeout=30) == 3
    assert f"daemon ended (pid {daemon}); run the same command again to continue" in process.stderr.read()
    services = ("a", "b", "front")
    assert all(alive(pids[name]) for name in services)

    def serves():
        with urllib.request.urlopen(f"http://127.0.0.1:{front}/", timeout=30) as response:
            return json.load(response) == {"failed": 0}
    # Within its last second the lease may still hold.
    wait_until(serves, "the services answer without faults", timeout=10)
    assert [serves() for _ in range(20)] == [True] * 20

    process = project.start("run", "--no-reduction", "--json")
    second = list(events(process))
    assert process.wait(timeout=60) == 0, process.stderr.read()
    assert any(event["type"] == "session" and event["resumed"] for event in second)
    ended = [event["text"] for event in second if event["type"] == "warning" and "left behind" in event["text"]]
    assert all(any(f"{name} (pid {pids[name]})" in text for text in ended) for name in services)
    assert not any(alive(pids[name]) for name in services)
    # 1 + 3 for a + 3 for b + 9 for both; at most what the last moments held is executed again.
    before, after = executed_ids(first), executed_ids(second)
    (report,) = json.loads((project.root / "report.json").read_text())["tests"]
    assert report["finished"] and report["counts"]["executed"] == 16
    assert len(set(before + after)) == 15
    assert len(after) < 15 and len(set(before) & set(after)) <= 2


def test_a_call_that_a_fault_holds_is_released_when_the_daemon_dies(project):
    front = free_port()
    services = [relay("back"), relay("front", "back", ports={"front": front}, options="--timeout 0")]
    project.write("filibuster.json", config(
        services, [probe(url("front"), expected="200,503")], faults=[{"inject": "timeout"}],
        bounds={"hang_limit": 60}))
    project.start("run")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    daemon = project.daemon()
    asked = urllib.request.Request(daemon["url"] + "/v1/fault-injected",
                                   headers={"Authorization": "Bearer " + daemon["token"]})

    def holds():
        with urllib.request.urlopen(asked, timeout=10) as response:
            return json.load(response)["injected"]
    wait_until(holds, "front waits for an answer that never comes")
    (test,) = [pid for name, pid in owned(project).items() if name == "test"]
    os.kill(daemon["pid"], signal.SIGKILL)
    # Nobody but the held call keeps the test: it ends as soon as front gets its reset.
    wait_until(lambda: not alive(test), "the test ends", timeout=20)
    wait_until(lambda: get(front) == 200, "front answers without faults", timeout=10)
    project.started[0].wait(timeout=30)
    pids = owned(project)
    trace = project.filibuster("trace")  # any next session ends what was left behind
    assert trace.exit_code == 0, trace
    assert not any(alive(pid) for pid in pids.values())


# --- services that crash -----------------------------------------------------------------------

@pytest.mark.parametrize("how, signal_name", [("abort", "SIGABRT"), ("segv", "SIGSEGV")])
def test_a_service_that_crashes_under_a_fault_is_a_finding_with_its_signal(project, how, signal_name):
    project.write("filibuster.json", pair(f"--on-failure {how}"))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    assert run.executed == 6 and run.test["finished"], "the exploration goes on after each crash"
    assert len(run.test["findings"]) == 5
    for finding in run.test["findings"]:
        assert finding["first"]["verdict"] == "crashed"
        assert "front" in finding["first"]["detail"] and signal_name in finding["first"]["detail"]
        assert finding["reproduced"] is True
    assert f"front ended by {signal_name}" in run.output or f"front {signal_name}" in run.output, run
    # Once more for each execution that a crash ended, and its replay.
    assert run.errors.count("service front ready") >= 10, run
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1 and signal_name in replay.output, replay
    if how == "segv":
        assert "about to crash" in run.test["findings"][0]["first"]["output"]
        assert "about to crash" in replay.output, replay


def test_a_service_that_exits_under_a_fault_is_a_finding_with_its_status(project):
    project.write("filibuster.json", pair("--on-failure exit", faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "crashed" and "7" in finding["first"]["detail"], finding


def test_a_service_that_must_not_be_restarted_ends_the_session_when_it_crashes(project):
    made = pair("--on-failure abort", faults=[{"inject": "503"}])
    made["services"][1]["restart"] = "never"
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "'front' ended" in run.errors and "restart: never" in run.errors, run


def test_a_service_that_crashes_without_any_fault_is_named_with_its_log(project):
    project.write("filibuster.json", config(
        [relay("front", f"http://127.0.0.1:{free_port()}/", options="--on-failure segv")], [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "without any fault" in run.errors and "front" in run.errors, run
    assert "SIGSEGV" in run.errors and "about to crash" in run.errors, run


# --- other protocols ---------------------------------------------------------------------------

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
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(5)
            s.sendto(b"counter:1", ("127.0.0.1", int(sys.argv[2])))
            good = s.recv(100) == b"counted counter:1"
        self.send_response(200 if good else 500)
        self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_a_udp_dependency_passes_untouched_and_is_listed(project):
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
            [{"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} {port}"}],
            [probe(url("front"))]))
        run = project.filibuster("run")
        server.sendto(b"end", ("127.0.0.1", port))
        thread.join()
    assert run.exit_code == 3, run
    row = dependencies(run, "front")[f"127.0.0.1:{port}"]
    assert "udp" in row["reason"].lower(), row


TLS_SERVER = '''
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
'''
TLS_CLIENT = '''
import http.server, sys, requests, urllib3
urllib3.disable_warnings()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        good = requests.get("https://127.0.0.1:" + sys.argv[2], verify=False, timeout=5).text == "ok"
        self.send_response(200 if good else 500); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_a_tls_dependency_passes_untouched_and_is_listed(project):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-subj", "/CN=localhost", "-days", "1", "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=project.directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    project.write("vault.py", TLS_SERVER)
    project.write("front.py", TLS_CLIENT)
    project.write("filibuster.json", config(
        [{"name": "vault", "command": f"exec {PYTHON} vault.py ${{port:vault}}"},
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:vault}}"}],
        [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "tls" in dependencies(run, "front")["vault"]["reason"].lower(), run.test["dependencies_not_tested"]


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
