"""A client that keeps the connection of a command that it has given up, and takes the late reply for that of its next command."""
import shutil

import pytest

from conftest import PYTHON
from small_apps import config, url

# The quota with a limit of 0.3 s, then the name. After a cancellation the client keeps its one connection or closes it.
SHOP = '''
import asyncio, sys
from aiohttp import web
class Client:
    pair = None
    async def get(self, key):
        if self.pair is None:
            self.pair = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        reader, writer = self.pair
        try:
            writer.write(b"*2\\r\\n$3\\r\\nGET\\r\\n$%d\\r\\n%s\\r\\n" % (len(key), key.encode()))
            await writer.drain()
            head = await reader.readuntil(b"\\r\\n")
            return b"nothing" if head == b"$-1\\r\\n" else (await reader.readexactly(int(head[1:]) + 2))[:-2]
        except CLOSES:
            writer.close(); self.pair = None
            raise
async def main():
    cache = Client()
    async def profile(request):
        try:
            quota = await asyncio.wait_for(cache.get("quota:7"), 0.3)
        except Exception as error:
            quota = type(error).__name__.encode()
        try:
            name = await asyncio.wait_for(cache.get("name:7"), 10)
        except Exception as error:
            return web.Response(text=type(error).__name__, status=503)
        return web.Response(text=(quota + b" " + name).decode())
    app = web.Application(); app.router.add_get("/", profile)
    runner = web.AppRunner(app); await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(sys.argv[1])).start()
    await asyncio.Event().wait()
asyncio.run(main())
'''
# A fault of any other kind gives a 503, or no quota. Nothing gives another key's value.
CHECK = f'status=$(curl -s -o got -w "%{{http_code}}" {url("shop")}); cat got >> seen; echo >> seen; [ $status = 503 ] || grep -q " ada$" got'


def explore(project, closes, *faults):
    if shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project.write("shop.py", SHOP.replace("CLOSES", closes))
    project.write("filibuster.json", config(
        [{"name": "cache", "command": "exec redis-server --port ${port:cache} --bind 127.0.0.1 --save '' --appendonly no", "protocol": "redis"},
         {"name": "shop", "command": f"exec {PYTHON} shop.py ${{port:shop}} ${{port:cache}}"}],
        [{"name": "profile", "command": CHECK}], hooks={"before_execution": "redis-cli -p $PORT_CACHE mset quota:7 100 name:7 ada > /dev/null"},
        faults=[{"on": {"service": "cache"}, "inject": list(faults)}], bounds={"reference_executions": 1}))
    return project.filibuster("run")


def test_a_late_reply_that_is_taken_for_the_next_one_is_found(project):
    run = explore(project, "Exception", "latency:600ms")  # a cancellation is no Exception: the connection stays
    assert run.exit_code == 1 and run.executed == 4 and not run.test["skipped"], run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["method"], fault["path"], fault["fault"]) == ("GET", "quota:*", "latency:600ms") and finding["reproduced"], finding
    # Its connection is not used in other executions, in which the name is late, or nothing is.
    seen = (project.directory / "seen").read_text().splitlines()
    assert set(seen) <= {"100 ada", "TimeoutError 100", "IncompleteReadError ada", "ConnectionResetError ada"} and "TimeoutError 100" in seen, seen
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1, replay


def test_a_client_that_ends_the_connection_is_not_hit(project):
    run = explore(project, "BaseException", "latency:600ms")
    assert run.exit_code == 0 and run.executed == 4 and not run.test["findings"] and not run.test["skipped"], run
    assert "TimeoutError ada" in (project.directory / "seen").read_text().splitlines(), run


def test_a_reply_that_is_late_and_waited_for_changes_nothing(project):
    run = explore(project, "Exception", "latency:50ms")
    assert run.exit_code == 0 and run.executed == 4 and not run.test["skipped"], run
    assert set((project.directory / "seen").read_text().splitlines()) == {"100 ada"}, run
