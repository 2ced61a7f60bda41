"""PHP behind a web server (FastCGI), and by itself: which request causes a call, and where it is made."""
import os
import shutil

import pytest

import pairs
from conftest import PYTHON
from rpc_tree import attributions, causes, observe
from small_apps import APPS, config, probe, relay, url

FPM = next((path for path in (f"/usr/sbin/php-fpm8.{minor}" for minor in range(9)) if os.path.exists(path)), None)
NUMBER = 4
PROGRAM = """<?php
class Shop {
    static function ask($url) {
        $call = curl_init($url);
        curl_setopt_array($call, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 1]);
        $body = curl_exec($call);  // by curl
        if (curl_getinfo($call, CURLINFO_RESPONSE_CODE) != 200) http_response_code(500);
    }
}

function read($url) {
    if (file_get_contents($url) === false) http_response_code(500);  // by stream
}

ini_set('default_socket_timeout', 1);
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
Shop::ask("BACK$path/0");  // first
read("BACK$path/1");  // second
"""
POOL = """
[global]
error_log = /dev/stderr
daemonize = no
[www]
listen = LISTEN
USER
pm = static
pm.max_children = 6
clear_env = no
"""
NGINX = """
daemon off; pid nginx.pid; error_log stderr; worker_processes 2; USER
events { worker_connections 64; }
http {
  access_log off; keepalive_timeout 30;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:PORT;
    location / {
      fastcgi_pass LISTEN;
      fastcgi_param SCRIPT_FILENAME DIRECTORY/index.php;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param QUERY_STRING $query_string;
    }
  }
}
"""
APACHE = """
ServerRoot DIRECTORY
ServerName localhost
PidFile DIRECTORY/apache.pid
ErrorLog /dev/stderr
Listen 127.0.0.1:PORT
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_fcgi_module /usr/lib/apache2/modules/mod_proxy_fcgi.so
ProxyPassMatch ^/ PROXY
ProxyFCGISetEnvIf true SCRIPT_FILENAME DIRECTORY/index.php
"""
ROOT = os.geteuid() == 0
pytestmark = pytest.mark.skipif(FPM is None, reason="no php-fpm")


def line_of(mark):
    (line,) = [number for number, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith(f"// {mark}")]
    return line


def web(project, server, listen):
    """A service of a web server and of php-fpm, which answers by PROGRAM."""
    at = f"unix:{project.directory}/fpm.sock" if listen == "unix" else "127.0.0.1:@FPM@"
    fpm = f"{project.directory}/fpm.sock" if listen == "unix" else "127.0.0.1:@FPM@"
    proxy = f'"unix:{project.directory}/fpm.sock|fcgi://localhost/"' if listen == "unix" else '"fcgi://127.0.0.1:@FPM@/"'
    project.write("index.template", PROGRAM.replace("BACK", "http://127.0.0.1:@BACK@"))
    project.write("pool.template", POOL.replace("LISTEN", fpm).replace("USER", "user = root\ngroup = root" if ROOT else ""))
    template = NGINX if server == "nginx" else APACHE
    project.write("server.template", template.replace("LISTEN", at).replace("PORT", "@WEB@").replace("PROXY", proxy)
                  .replace("DIRECTORY", str(project.directory)).replace("USER", "user root;" if ROOT else ""))
    fill = "sed -e s/@WEB@/${port:web}/ -e s/@FPM@/${port:fpm}/ -e s/@BACK@/${port:back}/"
    run = f"nginx -e stderr -p {project.directory} -c {project.directory}/server.conf" if server == "nginx" else \
        f"apache2 -DFOREGROUND -f {project.directory}/server.conf"
    # php-fpm leaves the service's process group, and so stays, unless it leads it.
    command = (f"{fill} index.template > index.php; {fill} pool.template > pool.conf; {fill} server.template > server.conf; "
               f"( while [ ! -S fpm.sock ] && [ {listen} = unix ]; do sleep 0.01; done; exec {run} ) & exec {FPM} {'-R' if ROOT else ''} -F -y pool.conf")
    return {"name": "web", "ports": ["web", "fpm"], "command": command}


# Each server stays once, and each kind of socket.
@pairs.each("server, listen", [("nginx", "unix"), ("apache2", "tcp")])
@pytest.mark.parametrize("server, listen", [("nginx", "unix"), ("nginx", "tcp"), ("apache2", "unix"), ("apache2", "tcp")])
def test_a_worker_behind_a_web_server(project, server, listen):
    if shutil.which(server) is None:
        pytest.skip(f"no {server}")
    run = observe(project, [relay("back"), web(project, server, listen)],
                  f"exec {PYTHON} {APPS}/many.py {NUMBER} {url('web', '')}")
    right, unknown, wrong = attributions(run)
    assert wrong == [] and unknown == []
    assert sorted(right) == sorted(f"/{n}/{call}" for n in range(NUMBER) for call in range(2))
    assert causes(run, "web") == {"thread"}
    check_sites(run)


def check_sites(run):
    """Each call shows the program's lines."""
    for rpc in run.test["reference"]:
        if rpc["caller"] != "web":
            continue
        inner, outer = ("by curl", "first") if rpc["path"].endswith("/0") else ("by stream", "second")
        function = "Shop::ask" if rpc["path"].endswith("/0") else "read"
        frames = [frame.split("/")[-1] for frame in rpc["stack"]]
        assert frames == [f"index.php:{line_of(inner)} ({function})", f"index.php:{line_of(outer)} ({{main}})"]


# Workers of php-fpm get faults in test_changed_users.py, too.
@pytest.mark.whole
def test_calls_of_workers_get_faults(project):
    if shutil.which("nginx") is None:
        pytest.skip("no nginx")
    project.write("filibuster.json", config([relay("back"), web(project, "nginx", "unix")],
                                            [probe(url("web"), expected="200,500")]))
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0, run
    assert run.test["finished"] and run.test["skipped"] == [] and run.test["without_cause"] == [], run
    assert run.executed == 6 ** 2 and "plan not met" not in run.output, run


def test_a_script_and_the_built_in_server(project):
    """`php -S`: one process that serves one request after the other."""
    project.write("index.template", PROGRAM.replace("BACK", "http://127.0.0.1:@BACK@"))
    service = {"name": "web", "command": "sed -e s/@BACK@/${port:back}/ index.template > index.php; "
                                         "exec php -S 127.0.0.1:${port:web} index.php"}
    run = observe(project, [relay("back"), service], f"exec {PYTHON} {APPS}/many.py 1 {url('web', '')}")
    assert attributions(run) == (["/0/0", "/0/1"], [], [])
    check_sites(run)
