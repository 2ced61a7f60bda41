"""gRPC: where a call was made, in every way of calling; what is added to its metadata, and what must not be. (Which
request causes a call: test_matrix.py.)"""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import PRELOAD, PROGRAMS, PYTHON, REPOSITORY, free_port, wait_until, accepts
from matrix import HERE
from rpc_tree import observe
from small_apps import config

ANSWERS = {"name": "back", "command": f"exec {PYTHON} {HERE}/grpc_service.py back - ${{port:back}}"}
MATRIX = REPOSITORY / "tests/programs/grpc/matrix.cc"

# Each call on a line of its own, marked by its method.
PROGRAM = """
import asyncio, sys, grpc
address = sys.argv[1]
channel = grpc.insecure_channel(address)

class Passing(grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_unary(self, continuation, details, request):
        assert not details.metadata, "an interceptor sees what the program has given, and nothing of ours"
        return continuation(details, request)

class PassingInTasks(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation, details, request):
        assert not details.metadata, details.metadata
        return await continuation(details, request)

channel.unary_unary("/sites/Plain")(b"1")
channel.unary_unary("/sites/WithCall").with_call(b"1", metadata=(("own", "1"),))
channel.unary_unary("/sites/Future").future(b"1", 9, [("own", "1")]).result()
list(channel.unary_stream("/matrix.Web/List")(b"1"))
grpc.intercept_channel(channel, Passing()).unary_unary("/sites/Intercepted")(b"1")

async def tasks():
    async with grpc.aio.insecure_channel(address, interceptors=[PassingInTasks()]) as own:
        await own.unary_unary("/sites/AioIntercepted")(b"1")
    async with grpc.aio.insecure_channel(address) as own:
        await own.unary_unary("/sites/Aio")(b"1")
        async for _ in own.unary_stream("/matrix.Web/List")(b"2"): pass

asyncio.run(tasks())
"""


def calls(run, caller="test"):
    return sorted((rpc["path"], rpc["index"], tuple(rpc["stack"])) for rpc in run.test["reference"]
                  if rpc["caller"] == caller)


def test_where_python_makes_its_calls(project):
    project.write("program.py", PROGRAM)
    run = observe(project, [ANSWERS], f"exec {PYTHON} program.py 127.0.0.1:${{port:back}}")
    assert len(calls(run)) == 8
    lines = PROGRAM.splitlines()
    for path, _, stack in calls(run):
        numbers = [n for n, line in enumerate(lines, 1) if f'"{path}"' in line]
        assert any(f"program.py:{n} " in frame for n in numbers for frame in stack), (path, stack)
    again = observe(project, [ANSWERS], f"exec {PYTHON} program.py 127.0.0.1:${{port:back}}")
    assert calls(again) == calls(run)


def test_where_a_c_program_makes_its_calls(project):
    web = {"name": "web", "command": f"exec {PROGRAMS}/grpc_matrix sync queue ${{port:web}} 127.0.0.1:${{port:back}}"}
    command = f"exec {PYTHON} {HERE}/grpc_clients.py 1 1 127.0.0.1:${{port:web}}"

    def stacks():
        run = observe(project, [ANSWERS, web], command, complete=False)
        # (A call that the background caller made before the execution began has no site.)
        return {stack for _, _, stack in calls(run, "web") if any("matrix.cc" in frame for frame in stack)}

    found = stacks()
    (beat,) = [stack for stack in found if any("beat(" in frame for frame in stack)]
    (handler,) = [stack for stack in found if any("RpcMethodHandler" in frame for frame in stack)]
    assert len(found) == 2 and any("by_blocking(" in frame for frame in beat)
    assert not any(re.search(r"libgrpc|libgpr|libstdc", frame) for frame in beat + handler)
    assert stacks() == found


SEEING = """
import sys, grpc
from concurrent import futures

def see(details):
    values = [value for key, value in details.invocation_metadata if key == "x-filibuster"]
    print(details.method, values, flush=True)

class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        see(details)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)

server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Handler(),))
server.add_secure_port(f"127.0.0.1:{sys.argv[1]}", grpc.local_server_credentials()) if sys.argv[2] == "local" \\
    else server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
"""

ASKING = """
import sys, grpc
address, kind = sys.argv[1:]
channel = grpc.secure_channel(address, grpc.local_channel_credentials()) if kind == "local" else grpc.insecure_channel(address)
assert channel.unary_unary("/a.B/C")(b"1") == b"1"
"""


def test_without_a_session_nothing_is_added(project):
    project.write("seeing.py", SEEING)
    project.write("asking.py", ASKING)
    port = free_port()
    alone = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER")}
    alone |= {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{project.directory}/nobody/agent.sock"}
    server = subprocess.Popen([PYTHON, "seeing.py", str(port), "plain"], cwd=project.directory, env=alone,
                              stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: accepts(port), "it serves")
        subprocess.run([PYTHON, "asking.py", f"127.0.0.1:{port}", "plain"], cwd=project.directory, env=alone, check=True)
        assert server.stdout.readline() == "/a.B/C []\n"
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("kind", ["plain", "local"])
def test_a_channel_with_credentials_is_left_alone(project, kind):
    project.write("seeing.py", SEEING)
    project.write("asking.py", ASKING)
    log = project.directory / "seen"
    service = {"name": "seeing", "command": f"exec {PYTHON} seeing.py ${{port:seeing}} {kind} > {log}"}
    test = {"name": "asking", "command": f"exec {PYTHON} asking.py 127.0.0.1:${{port:seeing}} {kind}"}
    project.write("filibuster.json", config([service], [test], default_faults=False,
                                            bounds={"reference_executions": 1}))
    project.filibuster("run")
    (seen,) = [line for line in pathlib.Path(log).read_text().splitlines() if line.startswith("/a.B/C")]
    values = re.findall(r"'([^']*)'", seen)
    of_helper = [value for value in values if value.count("-") == 7]
    assert bool(of_helper) == (kind == "plain"), seen
