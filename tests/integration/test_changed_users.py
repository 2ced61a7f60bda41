"""Processes that change their user, or their root directory, after their start: workers of web servers that a master
starts as root. They cannot open the session's socket any more, and take part in it nevertheless."""
import os
import pathlib
import signal
import subprocess

import pytest

import certificates
import pairs
from conftest import PRELOAD, PROGRAMS, PYTHON, free_port, wait_until
from by_hand import listens
from processes import alive, owned
from rpc_tree import chains, observe
from small_apps import config, printed, printing, probe, relay, url

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED, workers of another user: only root can change its user")
FPM = next((path for path in (f"/usr/sbin/php-fpm8.{minor}" for minor in range(9)) if os.path.exists(path)), None)

NGINX = """
daemon off; user %(user)s; pid nginx.pid; error_log stderr; worker_processes 2;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:FRONT%(ssl)s;
    location / {
      proxy_pass %(scheme)s://127.0.0.1:BACK; proxy_read_timeout 1s;
      proxy_ssl_verify on; proxy_ssl_trusted_certificate %(tls)s/ca.pem; proxy_ssl_name localhost;
    }
  }
}
"""
APACHE = """
ServerRoot %(directory)s
ServerName localhost
User %(user)s
Group www-data
PidFile %(directory)s/apache.pid
ErrorLog /dev/stderr
%(modules)s
Listen 127.0.0.1:FRONT
ProxyTimeout 1
%(ssl)s
ProxyPass / %(scheme)s://localhost:BACK/
"""
APACHE_TLS = """
SSLEngine on
SSLProxyEngine on
SSLCertificateFile %(tls)s/cert.pem
SSLCertificateKeyFile %(tls)s/key.pem
SSLProxyCACertificateFile %(tls)s/ca.pem
"""
FASTCGI = """
daemon off; user www-data; pid nginx.pid; error_log stderr;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:FRONT;
    location / {
      fastcgi_pass unix:%(directory)s/fpm.sock;
      fastcgi_param SCRIPT_FILENAME %(directory)s/index.php;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
    }
  }
}
"""
POOL = """
[global]
error_log = /dev/stderr
daemonize = no
[www]
listen = %(directory)s/fpm.sock
listen.owner = www-data
user = www-data
group = www-data
pm = static
pm.max_children = 2
clear_env = no
"""
PHP = """<?php
$call = curl_init(getenv('BACK') . $_SERVER['REQUEST_URI']);
curl_setopt_array($call, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 1, CURLOPT_CAINFO => getenv('SSL_CERT_FILE')]);
curl_exec($call);
http_response_code(curl_getinfo($call, CURLINFO_RESPONSE_CODE) == 200 ? 200 : 503);
"""
# Becomes another user before its first socket; argv: port, URL to ask.
PYTHON_SERVER = """
import http.server, os, sys, urllib.request
%s
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status = urllib.request.urlopen(sys.argv[2] + self.path, timeout=1).status
        except OSError:
            status = 503
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def nginx(project, words):
    project.write("nginx.conf", NGINX % (words | {"ssl": words["ssl"] and " ssl; ssl_certificate %(tls)s/cert.pem; ssl_certificate_key %(tls)s/key.pem" % words}))
    return "exec nginx -e stderr -p . -c $PWD/used", "nginx.conf"


def apache(project, words):
    names = ["mpm_event", "authz_core", "unixd", "ssl", "socache_shmcb", "proxy", "proxy_http"]
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in names
                        if os.path.exists(f"/usr/lib/apache2/modules/mod_{name}.so"))
    project.write("apache.conf", APACHE % (words | {"modules": modules, "ssl": words["ssl"] and APACHE_TLS % words}))
    return "exec apache2 -D FOREGROUND -f $PWD/used", "apache.conf"


def php(project, words):
    project.write("pool.conf", POOL % words)
    project.write("index.php", PHP)
    project.write("nginx.conf", FASTCGI % words)
    # php-fpm leaves the service's process group unless it leads it.
    server = "while [ ! -S fpm.sock ]; do sleep 0.01; done; exec nginx -e stderr -p . -c $PWD/used"
    return f"( {server} ) & exec {FPM} -F -y pool.conf", "nginx.conf"


def python(change):
    def command(project, words):
        project.write("front.py", PYTHON_SERVER % change)
        return f"exec {PYTHON} front.py ${{port:front}} $BACK", "front.py"
    return command


SERVERS = {
    "nginx, nobody": (nginx, {"user": "nobody nogroup"}),
    "nginx, www-data, over TLS": (nginx, {"user": "www-data", "ssl": "ssl"}),
    "apache2, www-data": (apache, {"user": "www-data"}),
    "apache2, www-data, over TLS": (apache, {"user": "www-data", "ssl": "ssl"}),
    "php-fpm, www-data": (php, {"user": "www-data"}),
    "php-fpm, www-data, calls over TLS": (php, {"user": "www-data", "scheme": "https"}),
    "python, setresuid": (python("os.setresuid(65534, 65534, 65534)"), {}),
    "python, seteuid": (python("os.seteuid(65534)"), {}),
}


# Prints the users of the processes that front consists of; argv: the list of the daemon's processes.
OF_FRONT = """
import json, os, pathlib, pwd, sys
top = next(row["pid"] for row in json.load(open(sys.argv[1]))["processes"] if row["name"] == "front")
users, pids = set(), [top]
while pids:
    of = pathlib.Path("/proc") / str(pids.pop())
    try:
        users.add(pwd.getpwuid(of.stat().st_uid).pw_name)
        pids += [int(pid) for thread in (of / "task").glob("*/children") for pid in thread.read_text().split()]
    except OSError:
        pass  # it has ended
print(*sorted(users))
"""


def application(project, tls, name):
    """front, of which the workers are of another user, and back. Gives them, and the URL of front."""
    write, given = SERVERS[name]
    program = {"php": FPM}.get(name[:3], "/usr/sbin/" + name.split(",")[0]) if "python" not in name else PYTHON
    if program is None or not os.path.exists(program):
        pytest.skip(f"NOT CHECKED, {name}: it is not installed")
    words = {"directory": project.directory, "tls": tls, "ssl": "", "user": ""} | given
    encrypted = "https" if given.get("ssl") else "http"
    words.setdefault("scheme", encrypted)
    command, file = write(project, words)
    back = relay("back", options=f"--tls {tls}" if words["scheme"] == "https" else "")
    environment = certificates.trusted(tls) | {
        "BACK": f"{words['scheme']}://localhost:${{port:back}}", "PATH": os.environ["PATH"] + ":/usr/sbin"}
    fill = f"sed -e s/FRONT/${{port:front}}/ -e s/BACK/${{port:back}}/ {file} > used; "
    return [back, {"name": "front", "command": fill + command, "env": environment}], f"{encrypted}://localhost:${{port:front}}"


@pytest.fixture
def open_tls(tmp_path_factory, open_project):
    """A certificate that every user can read."""
    made = certificates.make(open_project.directory / "tls")
    for file in made.iterdir():
        file.chmod(0o644)
    return made


# Each server stays once; the others of it get faults in the test below.
@pairs.only("server", ["nginx, www-data, over TLS", "apache2, www-data", "php-fpm, www-data, calls over TLS", "python, seteuid"])
@pytest.mark.parametrize("server", SERVERS)
def test_calls_of_workers_are_seen_with_their_cause(open_project, open_tls, server):
    services, front = application(open_project, open_tls, server)
    open_project.write("of_front.py", OF_FRONT)
    users = f"{PYTHON} of_front.py {open_project.root}/processes.json > users"
    run = observe(open_project, services, f"for n in a b; do curl -sSf --cacert {open_tls}/ca.pem {front}/$n; done; {users}")
    assert {"nobody", "www-data"} & set((open_project.directory / "users").read_text().split())
    assert chains(run) == sorted(line for n in "ab" for line in (
        f"test>front GET /{n} 200", f"test>front GET /{n} 200 / front>back GET /{n} 200"))


# Each server stays once, with the transport that it does not have in the test above.
@pairs.only("server", ["nginx, nobody", "apache2, www-data, over TLS", "php-fpm, www-data", "python, setresuid"])
@pytest.mark.parametrize("server", SERVERS)
def test_calls_of_workers_get_faults(open_project, open_tls, server):
    services, front = application(open_project, open_tls, server)
    client = f"curl -sS -o answer -w '%{{http_code}} ' --cacert {open_tls}/ca.pem {front}/a"
    open_project.write("filibuster.json", config(
        services, [{"name": "get", "command": printing(client)}], bounds={"max_faults": 1}, index={"stack": False}, default_faults=False,
        faults=[{"on": {"caller": "front"}, "inject": ["status:503", "reset", "timeout", "status:503:after", "latency:50ms"]}]))
    run = open_project.filibuster("run", "--no-snapshot")
    assert "WITHOUT A CONCLUSION" not in run.output and run.executed == 6, run
    assert run.test["dependencies_not_tested"] == [], run
    told = [text.split()[0] for text in printed(run)]
    plain, *faulted = told[0], *sorted(told[-5:])
    # The call that was late succeeds.
    assert plain == faulted[0] == "200" and all(code >= "500" for code in faulted[1:]), told


def test_workers_that_run_before_the_session_begins(open_project):
    """Their master cannot help them: they find the session by the page that they have from it."""
    project = open_project
    ports = {"back": free_port(), "front": free_port()}
    project.write("front.conf", (NGINX % {"user": "nobody nogroup", "ssl": "", "scheme": "http", "tls": "."}).replace("FRONT", str(ports["front"])).replace(
        "BACK", str(ports["back"])).replace("proxy_ssl_verify on; proxy_ssl_trusted_certificate ./ca.pem;", ""))
    commands = {"back": [PROGRAMS / "relay", str(ports["back"])],
                "front": ["/usr/sbin/nginx", "-e", "stderr", "-p", str(project.directory), "-c", str(project.directory / "front.conf")]}
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
    project.write("filibuster.json", config([{"name": name, "ports": {name: port}} for name, port in ports.items()],
                                            [probe(url("front"), expected="200,502,503,504,500")]))
    processes = [subprocess.Popen(command, cwd=project.directory, env={**plain, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": name})
                 for name, command in commands.items()]
    try:
        for port in ports.values():
            wait_until(lambda: listens(port), "the service listens")
        for _ in range(2):  # sessions
            run = project.filibuster("run", "--restart-session")
            assert run.exit_code == 0 and run.executed == 6, run
            assert run.test["dependencies_not_tested"] == [], run
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def test_a_process_that_changes_its_root_directory(open_project):
    """It finds neither its user's pages nor the path of the session's socket."""
    project = open_project
    (project.directory / "empty").mkdir()
    change = f"import encodings.idna; os.chroot({str(project.directory / 'empty')!r}); os.chdir('/')"
    project.write("front.py", PYTHON_SERVER % change)
    services = [relay("back"), {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} {url('back', '')}"}]
    run = observe(project, services, f"curl -sSf {url('front', '/a')}")
    assert chains(run) == ["test>front GET /a 200", "test>front GET /a 200 / front>back GET /a 200"]


# Another user takes the name of a door whose daemon was killed. Prints what it hears.
IMPOSTOR = """
import socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind(b"\\0" + sys.argv[1].encode()); door.listen()
print("listens", flush=True); door.settimeout(30)
peer, _ = door.accept()
print(len(peer.recv(65536)), "bytes", flush=True)
"""


def door_of(pid):
    """The name of the abstract socket at which a daemon listens."""
    inodes = {os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    (name,) = [line.split()[7] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
               if "@filibuster-door-" in line and f"socket:[{line.split()[6]}]" in inodes]
    return name.removeprefix("@")


def test_the_token_is_shown_to_no_other_user(open_project):
    project = open_project
    hold = project.write("hold", "")
    project.write("filibuster.json", config([relay("back")], [{"name": "waits", "command": "while [ -e hold ]; do sleep 0.01; done"}]))
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
    # The page on which the killed daemon stands lives as long as somebody has it.
    kept = free_port()
    keeper = subprocess.Popen([PROGRAMS / "relay", str(kept)], cwd=project.directory, env={**plain, "LD_PRELOAD": str(PRELOAD)},
                              start_new_session=True)
    project.started.append(keeper)
    wait_until(lambda: listens(kept), "a process has the page")
    project.start("trace")
    wait_until(lambda: "waits" in owned(project) or "test" in owned(project), "the session has begun")
    daemon = project.daemon()["pid"]
    door = door_of(daemon)
    os.kill(daemon, signal.SIGKILL)
    hold.unlink()
    project.write("front.py", PYTHON_SERVER % "os.setresuid(65534, 65534, 65534)")
    port = free_port()
    wait_until(lambda: not pathlib.Path(f"/proc/{daemon}").exists(), "the daemon has ended")
    with subprocess.Popen([PYTHON, "-c", IMPOSTOR, door], user="www-data", cwd="/", stdout=subprocess.PIPE, text=True) as impostor:
        front = None
        try:
            assert impostor.stdout.readline() == "listens\n"
            front = subprocess.Popen([PYTHON, "front.py", str(port), "http://127.0.0.1:9"], cwd=project.directory,
                                     env={**plain, "LD_PRELOAD": str(PRELOAD)})
            assert impostor.stdout.readline() == "0 bytes\n"
            wait_until(lambda: listens(port), "the process goes on")
        finally:
            for process in filter(None, (impostor, front)):
                process.kill()
                process.wait()
    for pid in owned(project).values():
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
