"""Real servers and clients inside a session: every RPC is seen, once, with its cause; and they answer what
they answer without us."""
import os
import re
import shutil
import signal

import pytest

import pairs
from conftest import CORPUS, PYTHON
from processes import alive
from rpc_tree import causes, chains, observe, observe_and_compare
from small_apps import APPS, relay, url

GUNICORN = f"exec gunicorn --chdir {APPS} web:app"
SERVERS = {
    "flask": f"exec {PYTHON} {APPS}/web.py ${{port:web}}",
    "gunicorn-sync": f"{GUNICORN} --workers 2 --bind 127.0.0.1:${{port:web}}",
    "gunicorn-gthread": f"{GUNICORN} --worker-class gthread --threads 4 --bind 127.0.0.1:${{port:web}}",
}
CURL = "curl -sS --max-time 20 -w '%{http_code} %{size_download}\\n'"


def needs(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f"NOT TESTED: {', '.join(missing)} not installed")


def web(server="flask", calls=(), **members):
    """The service `web`, which GETs `calls`."""
    return {"name": "web", "command": SERVERS[server],
            "env": {"CALLS": " ".join(calls), **members.pop("env", {})}, **members}


def under(path, *calls):
    """The chains of one GET by the test and what it causes."""
    top = f"test>web GET {path} 200"
    return [top] + [f"{top} / web>back GET {call} 200" for call in calls]


# Threads of one process stay, and those of workers.
@pairs.only("server", ["flask", "gunicorn-gthread"])
@needs("gunicorn")
@pytest.mark.parametrize("server", SERVERS)
def test_servers_and_what_their_requests_cause(project, server):
    services = [relay("back"), web(server, [url("back", ""), url("back", "")])]
    run = observe_and_compare(project, services, "\n".join(f"{CURL} {url('web')}{n}" for n in range(6)))
    assert chains(run) == sorted(
        line for n in range(6) for line in under(f"/{n}", f"/{n}/0", f"/{n}/1"))
    assert causes(run, "web") == {"thread"}


# A library that is built on http.client, a loop and a child stay.
@pairs.only("client", ["requests", "asyncio", "fork"])
@pytest.mark.parametrize("client", ["http.client", "requests", "session", "urllib", "asyncio", "fork"])
def test_clients_in_a_handler(project, client):
    """`fork`: a child of the handler issues the RPCs."""
    services = [relay("back"), web("flask", [url("back", ""), url("back", "")])]
    run = observe_and_compare(project, services, f"{CURL} '{url('web')}a?by={client}'\n{CURL} '{url('web')}b?by={client}'")
    expected = sorted(under(f"/a?by={client}", "/a/0", "/a/1") + under(f"/b?by={client}", "/b/0", "/b/1"))
    assert chains(run) == expected
    assert causes(run, "web") <= {"thread", "only-active"}


@needs("curl")
def test_programs_that_a_handler_starts_work_for_its_request(project):
    """A spawned program is a process of the service that read no request itself: it was told which one it is started for."""
    services = [relay("back"), web("flask", [url("back", ""), url("back", "")])]
    run = observe_and_compare(project, services, f"{CURL} '{url('web')}a?by=curl'")
    assert chains(run) == sorted(under("/a?by=curl", "/a/0", "/a/1"))
    assert causes(run, "web") == {"program"}
    assert {rpc["received_by"] for rpc in run.test["reference"]} == {"web", "back"}


CURL_REQUESTS = {
    "get": ("", "GET", ""),
    "head": ("--head -o /dev/null", "HEAD", ""),
    "http-1.0": ("--http1.0", "GET", ""),
    "post": ("--data @small", "POST", "small"),
    "expect": ("--data-binary @large -H 'Expect: 100-continue'", "POST", "large"),
    "large": ("--data-binary @large -H 'Expect:'", "POST", "large"),
    "chunked": ("--data-binary @large -H 'Transfer-Encoding: chunked' -H 'Expect:'", "POST", "large"),
}


# What curl sends is the same for each server, and this one reads the most plainly.
@pairs.only("server", ["gunicorn-sync"])
@needs("curl", "gunicorn")
@pytest.mark.parametrize("server", SERVERS)
def test_curl_sends_in_its_ways(project, server):
    (project.directory / "small").write_text("name=value")
    (project.directory / "large").write_text("".join(f"{n:07d}\n" for n in range(40_000)))
    command = "\n".join(f"{CURL} {options} {url('web')}{name}" for name, (options, _, _) in CURL_REQUESTS.items())
    run = observe_and_compare(project, [web(server)], command)
    assert chains(run) == sorted(
        f"test>web {method} /{name} 200" for name, (_, method, _) in CURL_REQUESTS.items())
    printed = (project.directory / "printed").read_text()
    assert printed.count('"length":320000') == 3 and printed.count('"length":10,') == 1, printed


@needs("curl")
def test_one_connection_for_several_requests(project):
    run = observe_and_compare(project, [web()], f"{CURL} '{url('web')}[1-20]'")
    assert chains(run) == sorted(f"test>web GET /{n} 200" for n in range(1, 21))


@needs("curl")
def test_http_server_of_python_over_ipv6(project):
    (project.directory / "files").mkdir()
    (project.directory / "files" / "page").write_text("text\n" * 3000)
    service = {"name": "web", "ready": {"log": "Serving"},
               "command": f"exec {PYTHON} -u -m http.server --bind ::1 --directory files ${{port:web}}"}
    run = observe_and_compare(project, [service], "\n".join(
        f"{CURL} -g 'http://[::1]:${{port:web}}/{path}'" for path in ("page", "absent", "page")))
    assert chains(run) == ["test>web GET /absent 404", "test>web GET /page 200", "test>web GET /page 200"]


@needs("gunicorn", "curl")
def test_gunicorn_over_a_unix_socket(project):
    path = str(project.directory / "back.sock")
    back = {"name": "back", "ports": [], "ready": {"log": "Listening at"},
            "command": f"{GUNICORN} --workers 2 --bind unix:{path}"}
    front = web(calls=["http://localhost", "http://localhost"], env={"SOCKET": path})
    run = observe_and_compare(project, [back, front], f"{CURL} '{url('web')}a?by=unix'")
    assert chains(run) == under("/a?by=unix", "/a/0", "/a/1")


NGINX = """
daemon off; pid nginx.pid; error_log stderr; worker_processes 2; user @USER@;
events { worker_connections 64; }
http {
  access_log off; sendfile on; keepalive_timeout 30;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream web { server 127.0.0.1:@WEB@; keepalive 4; }
  server {
    listen 127.0.0.1:@PROXY@;
    location /static/ { root @ROOT@; }
    location / { proxy_pass http://web; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
"""


def nginx(project, user):
    project.write("nginx.template", NGINX.replace("@ROOT@", str(project.directory)).replace("@USER@", user))
    return {"name": "proxy", "command":
            "sed -e s/@WEB@/${port:web}/ -e s/@PROXY@/${port:proxy}/ nginx.template > nginx.conf; "
            f"exec nginx -e stderr -p {project.directory} -c {project.directory}/nginx.conf"}


@needs("nginx", "gunicorn", "curl")
@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: nginx as root")
def test_nginx_between_client_and_service(project):
    """The proxy forwards our header field: that proves the cause. Its workers are children of the master."""
    (project.directory / "static").mkdir()
    (project.directory / "static" / "file").write_text("0123456789abcde\n" * 20_000)
    services = [relay("back"), web("gunicorn-gthread", [url("back", "")]), nginx(project, "root")]
    run = observe_and_compare(project, services, f"""
        {CURL} {url('proxy')}a {url('proxy')}b {url('proxy')}c
        {CURL} {url('proxy')}static/file | md5sum
        {CURL} --data name=value {url('proxy')}d""")
    expected = ["test>proxy GET /static/file 200"]
    for method, path in (("GET", "/a"), ("GET", "/b"), ("GET", "/c"), ("POST", "/d")):
        top = f"test>proxy {method} {path} 200"
        middle = f"{top} / proxy>web {method} {path} 200"
        expected += [top, middle, f"{middle} / web>back GET {path}/0 200"]
    assert chains(run) == sorted(expected)
    assert causes(run, "proxy") == {"header"} and causes(run, "web") == {"thread"}


@needs("nginx", "curl")
@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: nginx as root")
def test_workers_of_another_user_take_part(project):
    """nginx's master is root's, its workers are not. (More of them: test_changed_users.py.)"""
    run = observe_and_compare(project, [relay("web"), nginx(project, "www-data")], f"{CURL} {url('proxy')}a")
    assert chains(run) == ["test>proxy GET /a 200", "test>proxy GET /a 200 / proxy>web GET /a 200"]


def test_streams_of_asyncio(project):
    services = [relay("back"),
                {"name": "web", "command": f"exec {PYTHON} {APPS}/streams.py ${{port:web}} {url('back', '')} {url('back', '')}"}]
    run = observe_and_compare(project, services, f"{CURL} {url('web')}a {url('web')}b\n{CURL} --data x {url('web')}c")
    expected = under("/a", "/a/0", "/a/1") + under("/b", "/b/0", "/b/1")
    assert chains(run) == sorted(expected + [line.replace("GET /c 200", "POST /c 200")
                                             for line in under("/c", "/c/0", "/c/1")])
    assert causes(run, "web") == {"task"}


def test_services_in_cpp(project):
    run = project.filibuster("trace", "-c", CORPUS / "expedia" / "filibuster.json")
    assert run.exit_code == 0, run
    seen = sorted(re.findall(r"(\S+) -> (\S+)  (\S+) (\S+)  (\d+)", run.output))
    assert seen == [("api-gateway", "review-ml", "GET", "/reviews/7", "200"),
                    ("test", "api-gateway", "GET", "/hotels/7", "200")], run
    assert "by none" not in run.output, run


# Listens, then becomes another program, which serves the inherited socket.
LISTEN_AND_EXEC = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
listening.set_inheritable(True)
os.execv(sys.executable, [sys.executable, "serve.py", str(listening.fileno())])
"""
SERVE_INHERITED = """
import http.server, socket, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"inherited")
server = http.server.HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
server.socket = socket.socket(fileno=int(sys.argv[1]))
server.serve_forever()
"""


def test_exec_in_the_middle(project):
    project.write("listen.py", LISTEN_AND_EXEC)
    project.write("serve.py", SERVE_INHERITED)
    back = {"name": "back", "command": f"true; sh -c '{PYTHON} listen.py ${{port:back}}; true'"}
    run = observe_and_compare(project, [back, web(calls=[url("back", "")])], f"sh -c \"{CURL} {url('web')}a; true\"")
    assert chains(run) == under("/a", "/a/0")


# As daemons do it: two forks, a session of its own, all descriptors closed.
DOUBLE_FORK = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 65536)
for _ in range(3): os.open("/dev/null", os.O_RDWR)
open("daemon.pid", "w").write(str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:]) if os.environ.get("BY_EXEC") else None
import runpy
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("by_exec", ["", "1"])
def test_a_daemon_that_forks_twice_and_closes_everything(project, by_exec):
    project.write("fork_twice.py", DOUBLE_FORK)
    command = relay("web", url("back", "/x"), python=True)["command"].removeprefix("exec ")
    service = {"name": "web", "env": {"BY_EXEC": by_exec},
               "command": f"{PYTHON} fork_twice.py {command}; exec tail -f /dev/null"}
    run = observe(project, [relay("back"), service], f"{CURL} {url('web')}a")
    assert chains(run) == under("/a", "/x")
    assert not alive(int((project.directory / "daemon.pid").read_text())), "it ends with the session"


@needs("wrk", "gunicorn")
def test_wrk_counts_what_the_session_counts(project):
    run = observe(project, [web("gunicorn-gthread")], f"wrk -d 2 -t 1 -c 2 {url('web')} > printed")
    printed = (project.directory / "printed").read_text()
    requests = int(re.search(r"(\d+) requests in", printed).group(1))
    assert requests > 100 and "Non-2xx" not in printed and "Socket errors" not in printed, printed
    answered = [rpc for rpc in run.test["reference"] if rpc["outcome"] == "answered"]
    assert len(answered) == requests, printed
