"""Every shop without Filibuster: with a cache, and with one that is gone, silent, full or may not be written."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
import redis

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build" / "corpus" / "cache-aside"
SHOPS = ["hiredis", "redis-py", "redis-py-transaction", "ioredis", "ioredis-transaction", "node-redis"]
PRODUCT = {"id": 7, "name": "kettle", "price": 3900}


def missing(shop):
    if shutil.which("redis-server") is None:
        return "redis-server is not installed"
    if shop == "hiredis" and not (BUILT / "hiredis").exists():
        return f"{BUILT}/hiredis is not built (make corpus)"
    if shop in ("ioredis", "ioredis-transaction", "node-redis") and not (BUILT / "installed").exists():
        return f"the packages of npm are not there (make corpus; {BUILT}/npm.log)"
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what):
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, f"gave up waiting until {what}"
        time.sleep(0.02)


def accepts(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False


class Shop:
    """The services of a configuration, started as it says; `processes` by name."""

    def __init__(self, name):
        self.config = json.loads((HERE / f"{name}.json").read_text())
        self.ports = {row["name"]: free_port() for row in self.config["services"]}
        self.processes = {}

    def environment(self, row):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FILIBUSTER_")}
        return clean | {name: self.filled(value) for name, value in row.get("env", {}).items()}

    def filled(self, text):
        return re.sub(r"\$\{port:([^}]+)\}", lambda found: str(self.ports[found[1]]), text)

    def start(self):
        for row in self.config["services"]:
            self.processes[row["name"]] = subprocess.Popen(
                ["/bin/sh", "-c", self.filled(row["command"])], cwd=HERE, env=self.environment(row), stdout=subprocess.DEVNULL)
            wait_until(lambda name=row["name"]: accepts(self.ports[name]), f"{row['name']} listens")

    def test(self):
        (row,) = self.config["tests"]
        return subprocess.run(["/bin/sh", "-c", self.filled(row["command"])], cwd=HERE, env=self.environment(row),
                              capture_output=True, text=True, timeout=60)

    def get(self):
        """(status, answer) for the product."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['shop']}/product/7", timeout=10) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def redis(self):
        return redis.Redis("127.0.0.1", self.ports["cache"])

    def end_service(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def end(self):
        for name in self.processes:
            self.end_service(name)


@pytest.fixture(params=SHOPS)
def shop(request):
    reason = missing(request.param)
    if reason is not None:
        pytest.skip(f"NOT TESTED HERE: {request.param}: {reason}")
    made = Shop(request.param)
    try:
        made.start()
        assert_shown(made, 1)
        yield made
    finally:
        made.end()


def assert_shown(shop, visits):
    assert shop.get() == (200, {"product": PRODUCT, "visits": visits})


def assert_served_again(shop):
    """Soon after the cache is back: connections need a moment."""
    wait_until(lambda: shop.get()[1]["visits"] is not None, "the shop uses the cache again")


def test_the_functional_test_passes(shop):
    for _ in range(2):
        run = shop.test()
        assert run.returncode == 0, run.stdout + run.stderr


def test_a_product_that_was_shown_comes_from_the_cache(shop):
    shop.end_service("catalogue")
    assert_shown(shop, 2)
    with shop.redis() as cache:
        assert json.loads(cache.get("product:7")) == PRODUCT and 0 < cache.ttl("product:7") <= 60
        cache.delete("product:7")
    assert shop.get()[0] == 503


def test_without_a_cache_the_catalogue_answers(shop):
    shop.end_service("cache")
    for _ in range(3):
        assert_shown(shop, None)
    shop.end_service("catalogue")
    assert shop.get()[0] == 503


def test_a_silent_cache_is_not_waited_for(shop):
    shop.processes["cache"].send_signal(signal.SIGSTOP)
    before = time.monotonic()
    for _ in range(3):
        assert_shown(shop, None)
    assert time.monotonic() - before < 3 * 1.5
    shop.processes["cache"].send_signal(signal.SIGCONT)
    assert_served_again(shop)


def test_a_full_cache_is_gone_without(shop):
    with shop.redis() as cache:
        cache.flushall()
        cache.config_set("maxmemory", 1)
        assert_shown(shop, None)
        cache.config_set("maxmemory", 0)
    assert_served_again(shop)


def test_a_cache_that_may_not_be_written_is_gone_without(shop):
    with shop.redis() as cache:
        cache.flushall()
        cache.execute_command("REPLICAOF", "127.0.0.1", free_port())
        assert_shown(shop, None)
        cache.execute_command("REPLICAOF", "NO", "ONE")
    assert_served_again(shop)


@pytest.mark.parametrize("bug, trouble", [("outage-bug", "gone"), ("full-bug", "full")])
def test_the_seeded_bugs_are_there(bug, trouble):
    if missing("redis-py") is not None:
        pytest.skip(f"NOT TESTED HERE: {bug}: {missing('redis-py')}")
    made = Shop(bug)
    try:
        made.start()
        assert made.test().returncode == 0
        with made.redis() as cache:
            cache.flushall()
            cache.config_set("maxmemory", 1 if trouble == "full" else 0)
        if trouble == "gone":
            made.end_service("cache")
        assert made.get()[0] == 500
    finally:
        made.end()
