"""What 'no failure found' is worth: which RPCs were tested, which were not, and what the exit code says of it."""
import re

from conftest import PYTHON
from small_apps import config, pair, probe, relay, url


def beating(**members):
    """front -> back, and a thread of front that calls back by itself, also while no request is open."""
    return config([relay("back"), relay("front", "back", options=f"--heartbeat '{url('back', '/beat')}'")],
                  [probe(url("front"), expected="200,503")], **members)


def last_line(run):
    return run.output.rstrip().splitlines()[-1]


def test_everything_tested_is_said_in_the_last_line(project):
    project.write("filibuster.json", pair())
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested", run
    assert run.test["rpcs"] == {"tested": ["front -> back GET /"], "untested": [], "by_configuration": []}


def test_an_rpc_that_could_not_be_tested_is_no_pass(project):
    project.write("filibuster.json", beating())
    run = project.filibuster("run", "--junit", "out.xml")
    assert run.exit_code == 3 and not run.test["findings"], run
    ((rpc, reason),) = [row.values() for row in run.test["rpcs"]["untested"]]
    assert rpc == "front -> back GET /beat", run
    assert re.fullmatch(r"made by a background task of front: no request that was seen has led to the call at \S*asking\.h:\d+ "
                        r"\(Asking::say\), so no fault can be planned there", reason), reason
    assert f"  RPCs that were never faulted:\n    {rpc}: {reason}\n" in run.output, run
    junit = (project.directory / "out.xml").read_text()
    assert 'errors="0"' in junit and f'message="{reason}"' in junit, junit
    assert last_line(run) == "1 RPC tested, 1 not (made by a background task of front); --allow-untested accepts that", run
    assert "no failure found, 1 RPC NOT TESTED" in run.output, run
    allowed = project.filibuster("run", "--allow-untested")
    assert allowed.exit_code == 0 and last_line(allowed) == "1 RPC tested, 1 not (made by a background task of front)", allowed


# A server that answers when the task that it began at its start has made two more calls. Work that a request starts makes a call
# after the answer.
TASKS = """
import asyncio, sys
beats = 0
async def ask(path):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: back\\r\\nConnection: close\\r\\n\\r\\n".encode())
    answer = await reader.read()
    writer.close()
    return b" 200 " in answer
async def beat():
    global beats
    while True:
        try:
            await ask("/beat")
        except OSError:
            pass
        beats += 1
        await asyncio.sleep(0.01)
async def serve(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    before = beats
    try:
        good = await ask("/asked")
    except OSError:
        good = False
    while beats < before + 2:
        await asyncio.sleep(0.001)
    writer.write(b"HTTP/1.1 %d .\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n" % (200 if good else 503))
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    task = asyncio.create_task(beat())
    async with server:
        await server.serve_forever()
asyncio.run(main())
"""


def test_a_task_that_no_request_began_is_named_with_its_line(project):
    project.write("tasks.py", TASKS)
    front = {"name": "front", "command": f"exec {PYTHON} tasks.py ${{port:front}} ${{port:back}}"}
    project.write("filibuster.json", config([relay("back"), front], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run", "--fault", "503")
    assert run.exit_code == 3 and run.test["rpcs"]["tested"] == ["front -> back GET /asked"], run
    ((rpc, reason),) = [row.values() for row in run.test["rpcs"]["untested"]]
    assert rpc == "front -> back GET /beat", run
    assert re.fullmatch(r"made by a background task of front: .* led to the call at \S*tasks\.py:\d+ \((ask|beat)\), .*", reason), reason


def test_what_the_configuration_leaves_out_is_a_pass(project):
    project.write("filibuster.json", beating(faults=[{"on": {"path": "/beat"}, "inject": []}, {"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested, 1 left out by the configuration", run


def test_what_a_bound_leaves_out_is_a_pass_and_called_so(project):
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("front", "a", "b")], [probe(url("front"), expected="200,503")],
        faults=[{"inject": "503"}], bounds={"max_executions": 2}))
    run = project.filibuster("run", "--junit", "out.xml")
    assert run.exit_code == 0, run
    assert last_line(run) == "1 RPC tested, 1 not reached within the time or the bounds", run
    assert "2 executions: bound max_executions 2" in run.output, run
    assert 'message="not reached within the time or the bounds"' in (project.directory / "out.xml").read_text()


def test_timeouts_are_told_by_how_they_ended(project):
    project.write("filibuster.json", pair("--timeout 0.3", faults=[{"inject": "timeout"}]))
    (fast,) = project.filibuster("run").test["timeouts"]
    assert (fast["caller"], fast["service"], fast["waited"]) == ("front", "back", 0) and fast["elapsed"] > 0, fast
    real = project.filibuster("run", "--real-timeouts")
    (waited,) = real.test["timeouts"]
    assert waited["elapsed"] == 0 and waited["waited"] == fast["elapsed"] and waited["longest"] > 0, waited
