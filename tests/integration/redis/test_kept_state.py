"""A cache that the first execution fills: what it alone calls is said to be not tested, and what the warning proposes mends
that."""
import json
import shutil

import pytest

from conftest import PYTHON
from small_apps import config, probe, relay, url

SHOP = '''
import http.client, http.server, sys
import redis
cache = redis.Redis(port=int(sys.argv[2]))
def price():
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[3]), timeout=5)
    connection.request("GET", "/price")
    response = connection.getresponse()
    response.read()
    return response.status
def answer():
    try:
        if cache.get("price:1"):
            return 200
        status = price()
        if status == 200:
            cache.set("price:1", "7")
        return status
    except (OSError, redis.RedisError):
        return 503
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(answer()); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


@pytest.fixture
def shop(project):
    if shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project.write("shop.py", SHOP)

    def write(**members):
        project.write("filibuster.json", config(
            [{"name": "cache", "protocol": "redis", "command": "exec redis-server --port ${port:cache} --save ''"}, relay("prices"),
             {"name": "shop", "command": f"exec {PYTHON} shop.py ${{port:shop}} ${{port:cache}} ${{port:prices}}"}],
            [probe(url("shop"), expected="200,503")], faults=[{"inject": ["refused"]}], **members))
    write()
    return write


def test_the_hook_of_the_warning_makes_what_the_cache_hides_testable(project, shop):
    run = project.filibuster("run")
    assert run.exit_code == 3 and not run.test["findings"], run
    hidden = {"shop -> cache SET price:*", "shop -> prices GET /price"}
    assert {row["rpc"] for row in run.test["rpcs"]["untested"]} == hidden, run
    assert {line.split(": seen in ")[0] for line in run.test["without_cause"]} == hidden, run
    assert run.errors.count("calls were made in some of the 4 executions without faults") == 1, run
    assert all(f"  {call}, at " in run.errors and f"    {call}: seen in 1 of " in run.output for call in hidden), run
    (member,) = [line for line in run.errors.splitlines() if line.startswith('"hooks": ')]
    assert f"\n{member}\n" in run.output and any(member in note for note in run.test["notes"]), run
    shop(**json.loads("{" + member + "}"))
    mended = project.filibuster("run")
    assert mended.exit_code == 0 and hidden <= set(mended.test["rpcs"]["tested"]), mended
    assert "made in some" not in mended.errors and mended.test["without_cause"] == [], mended
