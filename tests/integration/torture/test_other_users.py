"""Another user of the machine tries what a session has open: its files, its sockets, its memory, its API. And what
another user left lying about is not taken for ours."""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import PYTHON, wait_until
from small_apps import config, pair, probe, relay, url

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED, what other users can do: only root can become one")

# Prints a line for each attempt that came through.
INTRUDER = r'''
import ctypes, json, os, pathlib, socket, sys, urllib.error, urllib.request
root, url, segments = pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])

def attempt(what, action):
    try:
        action()
    except (OSError, urllib.error.URLError) as error:
        return
    print(what)

def connect(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(path))

def attach(number):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_ssize_t
    for flags in (0, 0o10000):  # SHM_RDONLY
        if libc.shmat(number, None, flags) != -1:
            return
    raise OSError

def ask(path, method, headers):
    with urllib.request.urlopen(urllib.request.Request(url + path, method=method, headers=headers), timeout=20) as answer:
        answer.read()

for path in sys.argv[4:]:
    attempt(f"read {path}", lambda: open(path, "rb").read(1) if not os.path.isdir(path) else os.listdir(path))
    attempt(f"write {path}", lambda: open(path, "ab").close())
    attempt(f"remove {path}", lambda: os.rename(path, path + ".gone"))
    attempt(f"connect {path}", lambda: connect(path))
for number in segments:
    attempt(f"attach segment {number}", lambda: attach(number))
attempt("a file in the root", lambda: (root / "daemon.json.mine").touch())
for method, path in (("GET", "/v1/status"), ("GET", "/v1/trace"), ("POST", "/v1/sessions"), ("POST", "/v1/shutdown")):
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer " + "0" * 32}, {"Authorization": "Basic cm9vdDo="}):
        attempt(f"{method} {path} {headers}", lambda: ask(path, method, headers))
'''


def segments_of(pid):
    """What /proc tells everybody: the System V segments that a process has attached."""
    return sorted({int(line.split()[4]) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if "/SYSV" in line})


def names_one_of(segments, page):
    try:
        return int(os.readlink(page).split(":")[1]) in segments
    except (OSError, IndexError):
        return False  # of another run, which has ended


def test_another_user_reaches_nothing_of_a_session(open_project):
    project = open_project
    hold = project.write("hold", "")
    test = probe(url("front"))
    test["command"] = test["command"].removeprefix("exec ") + "; while [ -e hold ]; do sleep 0.05; done"
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [test]))
    process = project.start("trace")
    wait_until(lambda: (project.root / "processes.json").exists() and "test" in (project.root / "processes.json").read_text(),
               "the test runs")
    daemon = project.daemon()
    segments = segments_of(daemon["pid"])
    assert segments, "the control page"
    shared = pathlib.Path(f"/dev/shm/filibuster-{os.geteuid()}")
    pages = [path for path in shared.iterdir() if names_one_of(segments, path)]
    assert pages, list(shared.iterdir())
    paths = [project.root, *project.root.rglob("*"), shared, *pages, f"/proc/{daemon['pid']}/environ", f"/proc/{daemon['pid']}/fd"]
    assert any(path.name == "agent.sock" for path in paths[:-2]), paths
    intruder = subprocess.run([PYTHON, "-c", INTRUDER, str(project.root), daemon["url"], json.dumps(segments), *map(str, paths)],
                              user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=120)
    assert (intruder.returncode, intruder.stdout) == (0, ""), intruder
    hold.unlink()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "GET /" in output, errors


def test_the_daemon_of_another_user_is_not_asked(open_project):
    """Its daemon.json lies where ours would be: who follows it tells another user what is in the configuration."""
    project = open_project
    heard = project.directory / "heard"
    heard.touch()
    heard.chmod(0o666)
    listener = subprocess.Popen([PYTHON, "-c", """
import http.server, json, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(sys.argv[1], "a").write(self.path + " " + self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"version":1,"session":null}')
    do_POST = do_GET
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
""", str(heard)], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    project.started.append(listener)
    try:
        port = int(listener.stdout.readline())
        start = pathlib.Path(f"/proc/{listener.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        project.root.mkdir(mode=0o755)
        planted = project.root / "daemon.json"
        planted.write_text(json.dumps({"version": 1, "pid": listener.pid, "start_time": int(start),
                                       "url": f"http://127.0.0.1:{port}", "token": "0" * 32}))
        os.chown(planted, NOBODY, NOBODY)
        project.write("filibuster.json", pair(faults=[{"inject": "503"}]))
        run = project.filibuster("run")
        assert heard.read_text() == "", "another user was told"
        assert run.exit_code == 0 and run.executed == 2, run
    finally:
        listener.kill()
        listener.wait()
    project.started.remove(listener)


def test_what_another_user_put_in_the_way_of_a_file_is_not_written_through(open_project):
    project = open_project
    project.root.mkdir()
    victim = project.write("victim", "untouched")
    for name in ("report.json.new", "daemon.json.new"):
        (project.root / name).symlink_to(victim)
        os.chown(project.root / name, NOBODY, NOBODY, follow_symlinks=False)
    project.write("filibuster.json", pair(faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    assert victim.read_text() == "untouched"
