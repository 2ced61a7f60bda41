"""Servers and proxies that encrypt: the same RPCs as in the clear, and the same bytes."""
import os
import shutil

import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON
from rpc_tree import chains, observe_and_compare
from small_apps import config, printed, printing, relay

ROOT = os.geteuid() == 0
FAULTS = [{"on": {"caller": "front"}, "inject": ["503", "reset", "timeout", "503:after", "timeout:after"]}]

NGINX = """
daemon off; %(user)s pid %(directory)s/nginx.pid; error_log stderr; worker_processes 2;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %(directory)s; proxy_temp_path %(directory)s; fastcgi_temp_path %(directory)s;
  uwsgi_temp_path %(directory)s; scgi_temp_path %(directory)s; sendfile on;
  ssl_certificate %(tls)s/cert.pem; ssl_certificate_key %(tls)s/key.pem;
  server {
    listen 127.0.0.1:FRONT ssl;
    location /large { root %(directory)s/htdocs; }
    location / {
      proxy_pass https://127.0.0.1:BACK; proxy_ssl_verify on; proxy_ssl_trusted_certificate %(tls)s/ca.pem;
      proxy_ssl_name localhost; proxy_read_timeout 1s; proxy_http_version 1.1; proxy_set_header Connection "";
    }
  }
}
"""

HAPROXY = """
global
  nbthread 2
  insecure-fork-wanted
  ssl-server-verify required
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 1s
frontend front
  bind 127.0.0.1:FRONT ssl crt %(directory)s/pair.pem alpn http/1.1
  default_backend back
backend back
  server back 127.0.0.1:BACK ssl verify required ca-file %(tls)s/ca.pem
"""

APACHE = """
ServerRoot %(directory)s
ServerName localhost
PidFile %(directory)s/apache.pid
ErrorLog /dev/stderr
DocumentRoot %(directory)s/htdocs
%(modules)s
Listen 127.0.0.1:FRONT
<VirtualHost *>
  SSLEngine on
  SSLProxyEngine on
  ProxyTimeout 1
  SSLCertificateFile %(tls)s/cert.pem
  SSLCertificateKeyFile %(tls)s/key.pem
  SSLProxyCACertificateFile %(tls)s/ca.pem
  ProxyPass /large !
  ProxyPass / https://localhost:BACK/
</VirtualHost>
"""
MODULES = ["mpm_event", "authz_core", "ssl", "socache_shmcb", "proxy", "proxy_http"]


def filled(name, command):
    return f"sed -e s/FRONT/${{port:front}}/ -e s/BACK/${{port:back}}/ {name} > used && {command}"


def nginx(project, tls):
    user = "user root;" if ROOT else ""  # workers of another user are in test_changed_users
    project.write("nginx.conf", NGINX % {"directory": project.directory, "tls": tls, "user": user})
    return filled("nginx.conf", "exec nginx -p . -c $PWD/used")


def haproxy(project, tls):
    (project.directory / "pair.pem").write_text((tls / "cert.pem").read_text() + (tls / "key.pem").read_text())
    project.write("haproxy.cfg", HAPROXY % {"directory": project.directory, "tls": tls})
    return filled("haproxy.cfg", "exec haproxy -db -f used")


def apache(project, tls):
    (project.directory / "htdocs").mkdir(exist_ok=True)
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES)
    project.write("apache.conf", APACHE % {"directory": project.directory, "tls": tls, "modules": modules})
    return filled("apache.conf", "exec apache2 -D FOREGROUND -f $PWD/used")


def python(project, tls):
    return relay("front", "https://localhost:${port:back}/", options=f"--tls {tls}")["command"]


def gunicorn(worker):
    def command(project, tls):
        project.write("front.py", """
import os, ssl, urllib.request
def app(environ, start):
    try:
        with urllib.request.urlopen(os.environ["BACK"] + environ["PATH_INFO"], timeout=1) as answer:
            body, status = answer.read(), "200 OK"
    except OSError as error:
        body, status = repr(error).encode(), "503 Service Unavailable"
    start(status, [("Content-Length", str(len(body)))])
    return [body]
""")
        return (f"exec {PYTHON} -m gunicorn -k {worker} --threads 4 --certfile {tls}/cert.pem --keyfile {tls}/key.pem "
                "-b 127.0.0.1:${port:front} front:app")
    return command


def uvicorn(project, tls):
    project.write("front.py", """
import os
import httpx
client = None
async def app(scope, receive, send):
    global client
    if scope["type"] != "http":
        return
    client = client or httpx.AsyncClient(timeout=1)
    try:
        answer = await client.get(os.environ["BACK"] + scope["path"])
        status, body = answer.status_code, answer.content
    except httpx.HTTPError as error:
        status, body = 503, repr(error).encode()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
""")
    return f"exec {PYTHON} -m uvicorn --ssl-certfile {tls}/cert.pem --ssl-keyfile {tls}/key.pem --port ${{port:front}} front:app"


def java(client):
    def command(project, tls):
        return f"exec java -cp {BUILD}/tests/java Front ${{port:front}} {tls} {client}"
    return command


def netty(project, tls):
    classpath = (BUILD / "tests/netty/classpath").read_text().strip()
    return f"exec java -cp '{classpath}' NettyFront ${{port:front}} {tls}"


SERVERS = {"nginx": nginx, "haproxy": haproxy, "apache2": apache, "python": python, "gunicorn": gunicorn("sync"),
           "gunicorn gthread": gunicorn("gthread"), "uvicorn": uvicorn,
           "java HttpsURLConnection": java("url"), "java HttpClient": java("http"), "java Netty": netty}


def application(project, tls, server):
    program = server.split()[0]
    if program not in ("python", "gunicorn", "uvicorn") and not shutil.which(program) and not shutil.which(program, path="/usr/sbin"):
        pytest.skip(f"{program} is not there")
    environment = certificates.trusted(tls) | {"BACK": "https://localhost:${port:back}", "PATH": os.environ["PATH"] + ":/usr/sbin"}
    back = relay("back", options=f"--tls {tls}")
    return [back, {"name": "front", "command": SERVERS[server](project, tls), "env": environment}]



# Each server in one of the two, of each kind one in both.
@pairs.only("server", ["nginx", "apache2", "gunicorn", "java Netty"])
@pytest.mark.parametrize("server", SERVERS)
def test_requests_are_seen_on_both_sides(project, tls, server):
    services = application(project, tls, server)
    front = "https://localhost:${port:front}"
    run = observe_and_compare(
        project, services, f"curl -sS -m 20 --cacert {tls}/ca.pem {front}/a {front}/b")
    assert chains(run) == sorted(
        row for path in "ab" for row in (f"test>front GET /{path} 200", f"test>front GET /{path} 200 / front>back GET {'/' if server == 'python' else '/' + path} 200")), run


# Of OpenSSL in workers, in threads and in Python one each, and an SSLEngine; the other clients of Java are in test_tls_of_the_jvm.py.
@pairs.only("server", ["nginx", "haproxy", "python", "java Netty"])
@pytest.mark.parametrize("server", SERVERS)
def test_faults_below_them(project, tls, server):
    services = application(project, tls, server)
    client = f"code=$(curl -sS -m 20 -o /dev/null -w '%{{http_code}}' --cacert {tls}/ca.pem https://localhost:${{port:front}}/); [ $code = 200 ]"
    project.write("filibuster.json", config(services, [{"name": "client", "command": client}], faults=FAULTS, bounds={"max_faults": 1},
                                            index={"stack": False}))
    run = project.filibuster("run")
    # The JDK's clients ask again after a reset; then each attempt is reset, in an execution more.
    attempts = server in ("java HttpsURLConnection", "java HttpClient")
    assert "plan not met" not in run.output and run.test["counts"]["executed"] == 6 + attempts, run
    assert run.test["dependencies_not_tested"] == [], run
    print(server, [case["state"] for case in run.test["cases"]])


def test_wget_has_gnutls(project, tls):
    """All of its faults end as in the clear: after effect and changed answers by a thread in its process."""
    client = f"wget -q -T 1 -t 1 -O got --ca-certificate={tls}/ca.pem https://localhost:${{port:back}}/; echo $?"
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}")], [{"name": "get", "command": printing(client)}], fault_test_calls=True, default_faults=False,
        bounds={"max_faults": 1}, faults=[{"inject": ["status:503", "reset", "timeout", "timeout:after", "status:503:after", "latency:50ms", "partial-message"]}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 8, run
    plain, *_ = told = [text.strip() for text in printed(run)]
    assert plain == "0" and sorted(told[-7:]) == ["0", "4", "4", "4", "4", "8", "8"], told
