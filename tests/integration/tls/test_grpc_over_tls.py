"""gRPC on channels with credentials: call sites, causes and faults are those of channels in the clear, and of what travels with a
call in its process nothing reaches a server that is not the application's."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path += [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("http2", "runtimes", "grpc")]

import calls
import certificates
import gateway_faults
import gateways
import matrix
import pairs
from conftest import BUILD, PRELOAD, PROGRAMS, PYTHON, accepts, free_port, wait_until
from rpc_tree import observe
from small_apps import config, printed, printing, relay

LANGUAGES = ["cpp", "python"]
PAIRS = [("sync", "blocking", 8), ("sync", "queue", 2), ("async", "chained", 8), ("grpc", "blocking", 8), ("grpc", "future", 2),
         ("grpc", "stream", 1), ("grpc.aio", "aio", 8), ("grpc.aio", "aio-gather", 1)]


# Each server with the client that is the hardest for it.
@pairs.only("server, client", [("sync", "queue"), ("async", "chained"), ("grpc", "stream"), ("grpc.aio", "aio-gather")])
@pytest.mark.parametrize("server, client, number", PAIRS)
def test_every_call_has_the_request_that_caused_it(project, tls, server, client, number):
    """With a background caller every 5 ms in the same process."""
    shares = matrix.run_grpc(project, server, client, number, 4, tls=tls)
    print(shares.row())
    assert not shares.wrong and not shares.none and shares.total == number * 4 * 4 and shares.background > 0, shares
    assert shares.causes == {"task"}, shares


# Each call on a line of its own, marked by its method.
PROGRAM = """
import asyncio, sys, grpc
address, authority = sys.argv[1], open(sys.argv[2], "rb").read()
credentials = grpc.ssl_channel_credentials(authority)
channel = grpc.secure_channel(address, credentials)
channel.unary_unary("/sites/Plain")(b"1")
channel.unary_unary("/sites/WithCall").with_call(b"1", metadata=(("own", "1"),))
channel.unary_unary("/sites/Future").future(b"1", 9, [("own", "1")]).result()
list(channel.unary_stream("/matrix.Web/List")(b"1"))

async def tasks():
    async with grpc.aio.secure_channel(address, credentials) as own:
        await own.unary_unary("/sites/Aio")(b"1")
        async for _ in own.unary_stream("/matrix.Web/List")(b"2"): pass

asyncio.run(tasks())
"""


def sites(run):
    return sorted((rpc["path"], rpc["index"], tuple(rpc["stack"])) for rpc in run.test["reference"] if rpc["caller"] == "test")


def test_where_python_makes_its_calls(project, tls):
    project.write("program.py", PROGRAM)
    answers = {"name": "back", "command": f"exec {PYTHON} {matrix.HERE}/grpc_service.py back - ${{port:back}}", "env": {"TLS": str(tls)}}
    command = f"exec {PYTHON} program.py localhost:${{port:back}} {tls}/ca.pem"
    found = sites(observe(project, [answers], command))
    lines = PROGRAM.splitlines()
    assert len(found) == 6
    for path, _, stack in found:
        numbers = [n for n, line in enumerate(lines, 1) if f'"{path}"' in line]
        assert any(f"program.py:{n} " in frame for n in numbers for frame in stack), (path, stack)
    assert sites(observe(project, [answers], command)) == found


def test_where_a_cpp_program_makes_its_calls(project, tls):
    services = [{**calls.server(), "env": {"TLS": str(tls)}}]
    command = f"export TLS={tls}; {calls.client('kinds').replace('calls_client ', 'calls_client localhost:')}"
    found = sites(observe(project, services, command))
    assert found and all(any(".cc:" in frame for frame in stack) for _, _, stack in found), found
    assert not [frame for _, _, stack in found for frame in stack if re.search(r"libgrpc\\.|libgpr|libssl", frame)], found
    assert sites(observe(project, services, command)) == found


ASK = """
import sys, grpc
sys.path.append(sys.argv[2])
import grpc_credentials
for name in "ab":
    try:
        print(name, grpc_credentials.channel(grpc, sys.argv[1]).unary_unary("/a.B/" + name.upper())(name.encode(), timeout=1).decode())
    except grpc.RpcError as problem:
        print(name, problem.code().name)
"""
# (The caller's own deadline ends a silence.)
FAULTS = {"grpc:UNAVAILABLE": "UNAVAILABLE", "grpc:INTERNAL:after": "INTERNAL", "timeout": "DEADLINE_EXCEEDED", "no-trailers": None,
          "latency:50ms": "b"}


# An answer, a silence and an end without its trailers stay.
@pairs.only("fault", ["grpc:INTERNAL:after", "timeout", "no-trailers"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_python(project, tls, fault):
    project.write("ask.py", ASK)
    answers = {"name": "back", "command": f"exec {PYTHON} {matrix.HERE}/grpc_service.py back - ${{port:back}}", "env": {"TLS": str(tls)}}
    project.write("filibuster.json", config(
        [answers], [{"name": "ask", "command": printing(f"{PYTHON} ask.py localhost:${{port:back}} {matrix.HERE}"), "env": {"TLS": str(tls)}}],
        default_faults=False, bounds={"max_faults": 1}, faults=[{"on": {"caller": "test", "grpc": "a.B/B"}, "inject": fault}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 2, run
    plain, *_, faulted = (text.split() for text in printed(run))
    assert plain == ["a", "a", "b", "b"] and faulted[:2] == ["a", "a"], run
    assert faulted[3] == FAULTS[fault] or (FAULTS[fault] is None and faulted[3] not in ("b", "OK")), faulted


def test_the_first_call_on_a_connection_of_cpp_fails(project, tls):
    """Bytes of gRPC's own wait in its pair of BIOs then, which the thread that goes on with the connection has to send."""
    services = [{**calls.server(), "env": {"TLS": str(tls)}}]
    client = calls.client("kinds").replace("calls_client ", "calls_client localhost:")
    project.write("filibuster.json", config(
        services, [{"name": "kinds", "command": printing(client), "env": {"TLS": str(tls)}}], default_faults=False,
        bounds={"max_faults": 1}, faults=[{"on": {"caller": "test", "grpc": "calls.Calls/Double"}, "inject": "grpc:UNAVAILABLE"}]))
    run = project.filibuster("run")
    assert "plan not met" not in run.output and run.executed == 3, run
    plain, *_, first, second = (text.splitlines() for text in printed(run))
    for faulted, line in (first, 0), (second, 1):
        assert faulted[line].startswith("double 14 ") and faulted[:line] + faulted[line + 1:] == plain[:line] + plain[line + 1:], run


# --- grpc-java, over the JDK's own TLS -----------------------------------------------------------------------

def trusting(tls):
    return {**certificates.trusted(tls), "TLS": str(tls)}


def java_application(tls):
    back = calls.server(name="back")
    return [{**back, "env": {**back["env"], "TLS": str(tls)}}, relay("pages"), gateways.java(env=trusting(tls))]


# This stub goes on in other threads.
@pairs.only("stub", ["async"])
@pytest.mark.parametrize("stub", ["blocking", "async"])
def test_calls_of_java_are_seen(project, tls, stub):
    """(ALPN: tests/programs/grpc_java/JdkAlpn.java.)"""
    run = observe(project, java_application(tls), gateways.say("kinds", stub) + " > printed")
    assert (project.directory / "printed").read_text() == calls.KINDS
    made = [rpc for rpc in run.test["reference"] if rpc["caller"] == "gateway"]
    assert [(rpc["grpc"], rpc["grpc_status"], rpc["received_by"]) for rpc in made] == [
        (f"calls.Calls/{method}", "INVALID_ARGUMENT" if at == 1 else "OK", "back") for at, method in enumerate(gateway_faults.LINES)], run


def test_faults_of_java_meet_their_call(project, tls):
    """Each has the status that it has in the clear, and the calls beside it on the same connection end as without it."""
    back, _, gateway = java_application(tls)
    # On a busy machine the head of a streamed request leaves before its messages are known (docs/execution-indexes.md).
    gateway_faults.check_faults(project, gateway, "blocking", gateway_faults.PAIRWISE, back=back, index={"stack": False, "payload": False})


# A silence over TLS is among the faults of Python above.
@pytest.mark.whole
def test_a_silence_of_java(project, tls):
    back, _, gateway = java_application(tls)
    gateway_faults.check_silence(project, gateway, "async", back=back, index={"stack": False})


def test_java_says_nothing_of_its_own_to_a_server(project, tls):
    """Its calls have no call site over TLS, since what is on its way to Netty cannot be known to be followed."""
    fields = {"name": "fields", "command": gateways.java_command("Fields", "serve", "${port:fields}") + " > served", "env": trusting(tls)}
    environment = " ".join(f"{key}={value}" for key, value in trusting(tls).items())
    ask = gateways.java_command("Fields", "ask", "${port:fields}", "tls").replace("exec ", f"{environment} ")
    run = observe(project, [fields], ask + " > asked", complete=False)
    assert (project.directory / "asked").read_text() == "asked: \nfirst\nasked: \nsecond\n"
    served = [line.split()[1:] for line in (project.directory / "served").read_text().splitlines() if line.startswith("served:")]
    assert [[value.count("-") for value in values] for values in served] == [[HEADER]] * 2, run


# --- what must not leave ------------------------------------------------------------------------------------

SEEING = """
import sys, grpc
from concurrent import futures
sys.path.append(sys.argv[2])
import grpc_credentials

class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        print("seen", [value for key, value in details.invocation_metadata if key == "x-filibuster"], flush=True)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)

server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Handler(),))
grpc_credentials.listen(server, f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
"""
CLIENTS = {"cpp": f"{BUILD}/tests/http2/calls_client localhost:${{port:seeing}} kinds > /dev/null 2>&1 || true",
           "python": f"{PYTHON} ask.py localhost:${{port:seeing}} {matrix.HERE}"}


def seen_by_server(project, tls, language, members, env=None):
    project.write("ask.py", ASK)
    project.write("seeing.py", SEEING)
    service = {"name": "seeing", "command": f"exec {PYTHON} seeing.py ${{port:seeing}} {matrix.HERE} > seen", "env": {"TLS": str(tls)}, **members}
    test = {"name": "ask", "command": CLIENTS[language], "env": {"TLS": str(tls), **(env or {})}}
    project.write("filibuster.json", config([service], [test], default_faults=False, bounds={"reference_executions": 1}))
    run = project.filibuster("run")
    seen = [re.findall("'([^']*)'", line) for line in (project.directory / "seen").read_text().splitlines() if line.startswith("seen")]
    assert seen, run
    return [[value.count("-") for value in values] for values in seen]


HEADER, OF_HELPER = 5, 7  # as many '-' does a value have


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_service_of_the_application_sees_both_fields(project, tls, language):
    assert all(values == [OF_HELPER, HEADER] for values in seen_by_server(project, tls, language, {}))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_third_party_sees_none(project, tls, language):
    assert all(values == [] for values in seen_by_server(project, tls, language, {"third_party": True}))


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_added_where_a_proxy_may_be_in_between(project, tls, language):
    env = {"https_proxy": "http://127.0.0.1:1", "no_proxy": "localhost,127.0.0.1"}
    assert all(values == [HEADER] for values in seen_by_server(project, tls, language, {}, env))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_connection_that_is_older_than_the_session_carries_nothing(project, tls, language):
    """It is not followed, so nothing would be taken out of it."""
    project.write("seeing.py", SEEING)
    ports = {name: free_port() for name in ("seeing", "web")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER")} | {"TLS": str(tls)}
    log = open(project.directory / "seen", "w", encoding="utf-8")

    def start(name, *words):
        return subprocess.Popen(words, cwd=project.directory, stdout=log,
                                env={**environment, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": name})

    def ask(port):
        return [PYTHON, str(matrix.HERE / "grpc_clients.py"), "2", "4", f"localhost:{port}"]

    web = [f"{PROGRAMS}/grpc_matrix", "sync"] if language == "cpp" else [PYTHON, str(matrix.HERE / "grpc_service.py"), "grpc"]
    processes = [start("seeing", PYTHON, "seeing.py", str(ports["seeing"]), str(matrix.HERE))]
    try:
        # A channel whose first connect is refused waits a second before the next.
        wait_until(lambda: accepts(ports["seeing"]), "it serves")
        processes.append(start("web", *web, "blocking", str(ports["web"]), f"localhost:{ports['seeing']}"))
        wait_until(lambda: accepts(ports["web"]), "it serves")
        subprocess.run(ask(ports["web"]), env=environment, check=True)
        project.start("daemon")
        wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
        by_hand = [{"name": name, "ports": {name: port}} for name, port in ports.items()]
        run = observe(project, by_hand, f"export TLS={tls}; exec " + " ".join(ask("${port:web}")), complete=False)
        assert [rpc for rpc in run.test["reference"] if rpc["service"] == "web"], run
    finally:
        for process in processes:
            process.kill()
            process.wait()
        log.close()
    seen = re.findall("'([^']*)'", (project.directory / "seen").read_text())
    assert not [value for value in seen if value.count("-") == OF_HELPER], seen
