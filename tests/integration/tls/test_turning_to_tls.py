"""Connections that turn to TLS on their way: tunnels through a proxy, and PostgreSQL's SSLRequest."""
import os
import shutil
import subprocess

import pytest

import certificates
import pairs
from conftest import PYTHON, accepts, free_port, need_user_name, wait_until
from rpc_tree import chains, observe_and_compare
from small_apps import config, printed, printing, relay

PROXY = """
ServerRoot %(directory)s
ServerName localhost
PidFile %(directory)s/apache.pid
ErrorLog /dev/stderr
%(modules)s
Listen 127.0.0.1:%(port)d
ProxyRequests On
AllowCONNECT 1024-65535
"""
GET = """
import os, sys
import requests
try:
    print(requests.get(sys.argv[1], timeout=1).status_code)
except requests.RequestException as error:
    print(type(error).__name__)
"""
CLIENTS = {
    "curl": "curl -sS -m 2 -o /dev/null -w '%{http_code}\\n' $URL",
    "urllib": f"{PYTHON} -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=1).status)' $URL",
    "requests": f"{PYTHON} get.py $URL",
}


@pytest.fixture
def proxy(project):
    """A proxy that no configuration knows, as a company has one. Gives its port."""
    if not shutil.which("apache2", path="/usr/sbin"):
        pytest.skip("apache2 is not there")
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
                        for name in ("mpm_event", "authz_core", "proxy", "proxy_connect"))
    port = free_port()
    project.write("proxy.conf", PROXY % {"directory": project.directory, "modules": modules, "port": port})
    project.write("get.py", GET)
    process = subprocess.Popen(["/usr/sbin/apache2", "-D", "FOREGROUND", "-f", project.directory / "proxy.conf"])
    wait_until(lambda: accepts(port), "the proxy listens")
    yield port
    process.terminate()
    process.wait(timeout=20)


def client(tls, proxy, name):
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    return f"export {trust} https_proxy=http://127.0.0.1:{proxy} URL=https://localhost:${{port:back}}/x; {CLIENTS[name]}"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_tunnel_leads_to_its_target(project, tls, proxy, name):
    """The RPC is one to the target; the CONNECT is none."""
    run = observe_and_compare(project, [relay("back", options=f"--tls {tls}")], client(tls, proxy, name))
    assert chains(run) == ["test>back GET /x 200"], run


# Each client gets through the tunnel in the test above.
@pairs.only("name", ["requests"])
@pytest.mark.parametrize("name", CLIENTS)
def test_faults_happen_inside_of_a_tunnel(project, tls, proxy, name):
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}")], [{"name": "get", "command": printing(client(tls, proxy, name))}], fault_test_calls=True,
        default_faults=False, bounds={"max_faults": 1}, faults=[{"inject": ["status:503", "reset", "timeout", "timeout:after", "latency:50ms"]}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 6, run
    told = [text.strip() for text in printed(run)]
    # Of the faults only the latency leaves the answer as it is.
    assert told[0].endswith("200") and sum(text.endswith("200") for text in told[-5:]) == 1, told
    assert sum(text.endswith(("503", "Service Unavailable")) for text in told[-5:]) == 1, told


def test_a_handshake_inside_of_a_tunnel_that_a_fault_ends_counts_as_tested(project, tls, proxy):
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}")], [{"name": "get", "command": f"{client(tls, proxy, 'requests')}; exit 0"}], fault_test_calls=True,
        default_faults=False, bounds={"max_faults": 1}, faults=[{"inject": ["tls:closed-without-notify", "tls:handshake-timeout"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 3, run
    assert run.test["dependencies_not_tested"] == [] and run.test["rpcs"]["untested"] == [], run.test["rpcs"]


def test_a_tunnel_without_tls_is_named(project, proxy):
    command = f"curl -sS -m 2 -p -x http://127.0.0.1:{proxy} http://127.0.0.1:${{port:back}}/x"
    run = observe_and_compare(project, [relay("back")], command, complete=False)
    assert [(row["target_service"], row["reason"]) for row in run.test["dependencies_not_tested"] if row["service"] == "test"] == [("back", "upgraded")], run


BIN = "/usr/lib/postgresql/15/bin"
CLUSTER = """
set -e
rm -rf data; %(bin)s/initdb -D data -A trust -U postgres --no-sync > made 2>&1
cp %(tls)s/cert.pem data/server.crt; cp %(tls)s/key.pem data/server.key; chmod 600 data/server.key
exec %(bin)s/postgres -D data -h 127.0.0.1 -p $PORT_DB -k '' -c ssl=%(ssl)s -c fsync=off
"""


# In this mode the certificate is looked at.
@pairs.only("mode", ["verify-full"])
@pytest.mark.parametrize("mode, ssl", [("verify-full", "on"), ("require", "on"), ("prefer", "off")])
def test_postgresql_is_not_disturbed(project, tls, mode, ssl):
    """Its protocol is not followed, with TLS or without, and that is said."""
    if not os.path.exists(f"{BIN}/initdb"):
        pytest.skip("PostgreSQL 15 is not there")
    need_user_name()
    project.write("cluster.sh", CLUSTER % {"bin": BIN, "tls": tls, "ssl": ssl})
    run_as = ""
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        for folder in (project.directory, *project.directory.parents, tls, *tls.parents):
            if folder.name and folder.stat().st_uid == 0 and str(folder).startswith("/tmp/pytest"):
                folder.chmod(folder.stat().st_mode | 0o005)
        (tls / "key.pem").chmod(0o644)
        project.directory.chmod(0o777)
        run_as = "setpriv --reuid=65534 --regid=65534 --clear-groups "
    db = {"name": "db", "command": f"exec {run_as}bash cluster.sh", "env": {"PORT_DB": "${port:db}"}}
    query = ("for i in 1 2 3; do psql \"host=localhost port=${port:db} user=postgres dbname=postgres "
             f"sslmode={mode} sslrootcert={tls}/ca.pem\" -Atc 'select sum(n), current_setting($$ssl$$) from generate_series(1, 100000) n'; done; "
             "curl -sS -o /dev/null http://127.0.0.1:${port:back}/")
    run = observe_and_compare(project, [db, relay("back")], query, complete=False)
    assert (project.directory / "printed").read_text().split() == [f"5000050000|{ssl}"] * 3, run
    rows = run.test["dependencies_not_tested"]
    assert [(row["target_service"], row["reason"]) for row in rows if row["service"] == "test"] == [("db", "unknown-protocol")], rows
