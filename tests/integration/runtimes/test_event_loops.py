"""Servers of events in compiled code: one and the same request is sent now from here, now from there (a connection that is
kept, or one that opens first), so that its call stack varies from run to run; all of it is explored all the same."""
import shutil

import pytest

import pairs
from small_apps import config, probe, relay, url

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")

NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr; worker_processes 1;
events { worker_connections 64; }
http {
  access_log off; keepalive_timeout 30;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream web { server 127.0.0.1:@WEB@; keepalive 4; }
  server {
    listen 127.0.0.1:@PROXY@;
    location / { proxy_pass http://web; proxy_http_version 1.1; proxy_set_header Connection "";
                 proxy_read_timeout 1s; proxy_next_upstream off; }
  }
}
"""


def application(project, *paths):
    project.write("nginx.template", NGINX)
    proxy = {"name": "proxy", "command":
             "sed -e s/@WEB@/${port:web}/ -e s/@PROXY@/${port:proxy}/ nginx.template > nginx.conf; "
             f"exec nginx -e stderr -p {project.directory} -c {project.directory}/nginx.conf"}
    return config([relay("web"), proxy], [probe(*(url("proxy", path) for path in paths), expected="200,500,502,503,504")])


# Thirty-six executions show of two calls what six show of one.
@pairs.only("id", ["paths0"])
@pytest.mark.parametrize("paths", [["/a"], ["/a", "/b"]])
def test_nginx_is_explored_wholly(project, paths):
    project.write("filibuster.json", application(project, *paths))
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 0, run
    assert run.test["finished"] and run.test["skipped"] == [] and run.test["without_cause"] == [], run.test["skipped"]
    # Refused, a timeout, 500, 502, 503: at each RPC of the proxy, alone and with each of the other's.
    assert run.executed == 6 ** len(paths), run
    assert "plan not met" not in run.output, run
    proposed = run.test["nondeterminism"]["proposed"]
    assert [rule["mask"] for rule in proposed] == [{"stack": True}], "found, shown and masked"
