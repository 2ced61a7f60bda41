"""`filibuster init` in a folder with sources: what they read leads to the services, and the rest is named. `config check` afterwards."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import FILIBUSTER, PYTHON, free_port

GATEWAY = """import http.server, os, sys, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = urllib.request.urlopen(os.environ["CATALOG_URL"] + "/books", timeout=5).read()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
CATALOG = """import http.server, os, socket, sys
REDIS = ("127.0.0.1", int(os.environ.get("REDIS_PORT", 6379)))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with socket.create_connection(REDIS, 5) as redis:
            redis.sendall(b"*2\\r\\n$3\\r\\nGET\\r\\n$5\\r\\nbooks\\r\\n")
            body = redis.recv(100)
        self.send_response(200); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
TEST = """import os, urllib.request
def test_books():
    assert urllib.request.urlopen(os.environ["GATEWAY_URL"]).read() == b"$-1\\r\\n"
"""


def command(*arguments, directory, **environment):
    return subprocess.run([str(FILIBUSTER), *map(str, arguments)], cwd=directory, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_DOT_", ".").replace("_IN_", "/")).write_text(text)


def configuration(folder):
    lines = (folder / "filibuster.json").read_text().splitlines()
    return json.loads("\n".join(line for line in lines if not line.startswith("//")))


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="NOT TESTED HERE: redis-server is not installed")
@pytest.mark.parametrize("given", ["in the Procfile", "in .env", "in the source"])
def test_a_shop_whose_sources_read_their_addresses_runs_as_it_is(tmp_path, given):
    """Its fixed port of Redis is that of nobody, and its test and its gateway read what nothing sets."""
    variable = "REDIS_PORT=6379 " if given == "in the Procfile" else ""
    write(tmp_path, gateway_DOT_py=GATEWAY, catalog_DOT_py=CATALOG, test_shop_DOT_py=TEST,
          Procfile=f'redis: redis-server --port $PORT --save ""\ncatalog: {variable}{PYTHON} catalog.py $PORT\n'
                   f"gateway: {PYTHON} gateway.py $PORT\n")
    if given == "in .env":
        write(tmp_path, _DOT_env="REDIS_PORT=6379\n")
    made = command("init", directory=tmp_path)
    assert made.returncode == 0 and "set by nothing" not in made.stderr, made
    checked = command("config", "check", directory=tmp_path)
    assert checked.returncode == 0 and "warning" not in checked.stderr, checked
    if given != "in the Procfile":  # the same in the end, and a trace takes a second
        assert configuration(tmp_path)["services"][1]["env"] == {"PORT": "${port:catalog}", "REDIS_PORT": "${port:redis}"}
        return
    seen = command("trace", directory=tmp_path)
    assert seen.returncode == 0, seen
    assert "GET /books" in seen.stdout and re.search(r"redis.*GET", seen.stdout), seen


def test_what_nothing_sets_is_named_and_other_sources_are_not_read(tmp_path):
    for folder in ("api", "api/node_modules", "api/tests", "tests"):
        (tmp_path / folder).mkdir()
    large = "process.env.TOO_LARGE_URL;" + " " * (256 << 10)
    write(tmp_path, api_IN_large_DOT_js=large, api_IN_node_modules_IN_a_DOT_js="process.env.MODULE_URL",
          api_IN_tests_IN_a_DOT_js="process.env.UNIT_URL", api_IN_a_DOT_test_DOT_js="process.env.UNIT_URL",
          api_IN_server_DOT_js="require('./settings');\nlisten(process.env.PORT || 3000)",
          api_IN_settings_DOT_js="exports.key = process.env.API_KEY;\nexports.color = process.env.COLOR || 'red';\n"
                                 "exports.mail = process.env.MAIL || 'http://localhost:1';\nexports.home = process.env.HOME;\n",
          tests_IN_test_api_DOT_py="import os\nos.environ['BASE_URL']; os.environ['API_KEY']\n",
          package_DOT_json=json.dumps({"workspaces": ["api"]}),
          api_IN_package_DOT_json=json.dumps({"name": "api", "scripts": {"start": "node server.js"}}))
    os.symlink("..", tmp_path / "api/loop")
    made = command("init", directory=tmp_path)
    assert made.returncode == 0, made
    said = [line for line in made.stderr.splitlines() if "read by" in line]
    assert said == ["  look at: API_KEY is read by api/settings.js:1 and tests/test_api.py:2 and set by nothing",
                    "  look at: MAIL is read by api/settings.js:3 and set by nothing, and no service here is known to be at its "
                    "default http://localhost:1"], made.stderr
    written = configuration(tmp_path)
    assert written["services"][0]["env"] == {"PORT": "${port:api}"}, written
    assert written["tests"] == [{"name": "functional test", "command": "exec pytest -q",
                                 "env": {"BASE_URL": "http://127.0.0.1:${port:api}"}}], written
    again = command("init", "--force", directory=tmp_path, API_KEY="7")
    assert again.returncode == 0 and "API_KEY" not in again.stderr, again


@pytest.mark.parametrize("below", ["", "deploy"])
def test_containers_are_led_to_each_other_by_what_their_sources_read(tmp_path, below):
    """Compose says nothing of their addresses: the names of containers are defaults in the sources."""
    for name in ("web", "users"):
        (tmp_path / name).mkdir()
    write(tmp_path, web_IN_app_DOT_py="import os\nos.getenv('USERS', 'http://users:5000'); os.getenv('CACHE_HOST', 'cache')\n",
          users_IN_app_DOT_py="import os\nos.getenv('USERS_PORT', '5000'); os.environ['CACHE_URL']\n")
    (tmp_path / below).mkdir(exist_ok=True)
    top = "../" if below else ""
    (tmp_path / below / "compose.yaml").write_text(
        f"services:\n  web: {{build: {top}web, command: python app.py, ports: ['80:5000']}}\n"
        f"  users: {{build: {top}users, command: python app.py, expose: ['5000']}}\n  cache: {{image: redis}}\n")
    made = command("init", "compose.yaml", directory=tmp_path / below)
    assert made.returncode == 0 and "'cache' keeps the port 6379, since only its host is told by CACHE_HOST of 'web'" in made.stderr, made
    web, users, cache = configuration(tmp_path / below)["services"]
    assert web["env"] == {"CACHE_HOST": "127.0.0.1", "USERS": "http://127.0.0.1:${port:users}"} and web["ports"] == {"web": 5000}
    assert users["env"] == {"CACHE_URL": "redis://127.0.0.1:${port:cache}", "USERS_PORT": "${port:users}"} and "ports" not in users
    assert cache["ports"] == {"cache": 6379}
    assert command("config", "check", directory=tmp_path / below).returncode == 0


def test_more_sources_than_are_read_are_said(tmp_path):
    write(tmp_path, Procfile="web: ./web $PORT\n")
    for number in range(4001):
        (tmp_path / f"{number}.js").write_text("process.env.API_KEY")
    made = command("init", directory=tmp_path)
    assert made.returncode == 0 and "4000 sources were looked at" in made.stderr and "API_KEY is read by" in made.stderr, made


def test_a_port_that_its_service_did_not_get_is_a_warning(tmp_path):
    other = free_port()
    write(tmp_path, filibuster_DOT_json="""{"version": 1,
 "services": [{"name": "redis", "command": "redis-server --port ${port:redis}"},
              {"name": "other", "ports": {"other": %d}},
              {"name": "shop", "command": "./shop ${port:shop} --other localhost:%d",
               "env": {"REDIS_PORT": "6379", "OTHER_PORT": "%d"}}],
 "tests": [{"name": "t", "command": "true", "env": {"SHOP_URL": "http://localhost:8080/x"}}]}
""" % (other, other, other))
    checked = command("config", "check", directory=tmp_path)
    assert checked.returncode == 0 and "shop: started here" in checked.stdout, checked
    assert checked.stderr.splitlines() == [
        'filibuster.json:5:38: warning: REDIS_PORT is "6379", and no service has that port: \'redis\' gets a free one; '
        'write "${port:redis}"',
        'filibuster.json:6:65: warning: SHOP_URL is "http://localhost:8080/x", and no service has that port: \'shop\' gets a free one; '
        'write "http://localhost:${port:shop}/x"'], checked
