"""HTTP/2 connections that were open before the session: their clients are told to open new ones, and no
request fails because of it."""
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import pairs
from conftest import BUILD, PRELOAD, PYTHON, TESTS, accepts, free_port, wait_until
from small_apps import config, probe, url

HERE = TESTS / "retirement"
TORTURE = BUILD / "lib" / "libtorture.so"
CALLS = BUILD / "tests" / "http2"
CLIENT = HERE.parents[1] / "programs" / "http2" / "calls.py"


class Http:
    """A front that is asked over HTTP/1."""

    def __init__(self, *commands):
        self.back, self.front = commands

    @staticmethod
    def get(port, path="/"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def ask(self, port):
        return self.get(port)[0] == 200

    def tell(self, port, what):
        assert self.get(port, f"/{what}")[0] == 200

    def stats(self, port):
        return json.loads(self.get(port, "/stats")[1])

    @staticmethod
    def test():
        return probe(url("front"), expected="200,503")


class Grpc(Http):
    """The front of C++, which is asked over gRPC."""
    MODES = {"start": 1, "stop": 2, "stats": 0}

    def stub(self, port):
        sys.path.insert(0, str(CALLS))
        import calls_pb2
        import calls_pb2_grpc
        import grpc
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        return channel, calls_pb2_grpc.CallsStub(channel), calls_pb2.Number

    def ask(self, port):
        channel, stub, number = self.stub(port)
        with channel:
            return stub.Double(number(value=21), timeout=30).value == 42

    def tell(self, port, what):
        channel, stub, number = self.stub(port)
        with channel:
            calls, messages, failed = (n.value for n in stub.Count(number(value=self.MODES[what]), timeout=30))
        return {"calls": calls, "messages": messages, "failed": [] if failed == 0 else [failed]}

    def stats(self, port):
        return self.tell(port, "stats")

    @staticmethod
    def test():
        return {"name": "probe", "command": f"exec {PYTHON} {CLIENT} threads ${{port:front}} 1 1",
                "env": {"PYTHONPATH": str(CALLS)}}


KINDS = {
    "grpcio": Http([PYTHON, HERE.parent / "relay" / "grpc_server.py"], [PYTHON, HERE / "front.py"]),
    "grpc++": Grpc([CALLS / "calls_server"], [CALLS / "front"]),
    "node": Http(["node", HERE / "back.mjs"], ["node", HERE / "front.mjs"]),
}


class Services:
    """front -> back, started by the test itself under the preload, in the folder of the project."""

    def __init__(self, project, kind, under=()):
        self.project, self.kind, self.under = project, kind, dict(under)
        self.ports = {"back": free_port(), "front": free_port()}
        self.processes = [self.start("back", *kind.back, self.ports["back"]),
                          self.start("front", *kind.front, self.ports["front"], self.ports["back"])]
        for port in self.ports.values():
            wait_until(lambda: accepts(port), "the service accepts")

    def start(self, name, *command):
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        return subprocess.Popen(list(map(str, command)), cwd=self.project.directory,
                                env={**plain, "LD_PRELOAD": f"{PRELOAD}:{TORTURE}" if self.under else str(PRELOAD),
                                     **self.under, "FILIBUSTER_SERVICE": name})

    def configure(self, **members):
        self.project.write("filibuster.json", config(
            [{"name": name, "ports": {name: port}} for name, port in self.ports.items()],
            [self.kind.test()], index={"stack": False}, **members))  # the sites of calls are other tests'

    def ask(self):
        return self.kind.ask(self.ports["front"])

    def tell(self, what):
        return self.kind.tell(self.ports["front"], what)

    def stats(self):
        return self.kind.stats(self.ports["front"])

    def connections(self):
        """Local ports of the connections to back: which of them is which is seen by their ports."""
        wanted = f"0100007F:{self.ports['back']:04X}"
        rows = [line.split() for table in ("tcp", "tcp6")  # gRPC's sockets are of both families
                for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
        return {row[1] for row in rows if row[2].endswith(wanted) and row[3] == "01"}

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(params=KINDS)
def services(project, request):
    made = Services(project, KINDS[request.param])
    yield made
    made.end()


def is_asked(rpc):
    return rpc["caller"] == "front" and rpc["service"] == "back"


def outgoing(run):
    return [row for row in run.test["dependencies_not_tested"] if row["service"] == "front" and row["outgoing"]]


# gRPC of C++ is retired under short reads below.
@pairs.only("services", ["grpcio", "node"])
def test_an_idle_connection_is_retired_and_every_rpc_is_faulted(services, project):
    assert [services.ask() for _ in range(3)] == [True] * 3
    (before,) = services.connections()
    faults = ["refused", "status:503"]
    services.configure(default_faults=False, faults=[{"on": {"service": "back"}, "inject": faults}])
    for _ in range(3):  # in the later ones, the connections of the one before are old, or were relayed
        run = project.filibuster("run")
        assert run.exit_code == 0, run
        assert [is_asked(rpc) for rpc in run.test["reference"]].count(True) == 1, run.test["reference"]
        assert run.executed == 1 + len(faults), run
        assert outgoing(run) == [], run
        assert before not in services.connections()
    assert [services.ask() for _ in range(3)] == [True] * 3


# The other kinds are busy under short reads and writes.
@pairs.only("services", ["grpcio"])
def test_a_busy_connection_is_retired_while_its_calls_go_on(services, project):
    services.tell("start")
    wait_until(lambda: services.stats()["calls"] > 20 and services.stats()["messages"] > 2, "all is under way")
    (before,) = services.connections()
    services.configure()
    trace = project.filibuster("trace", timeout=120)
    assert trace.exit_code == 0, trace
    assert "front -> back" in trace.output, trace
    seen = services.stats()
    # The stream goes on where it was opened, the calls on another connection.
    assert before in services.connections() and len(services.connections()) > 1
    wait_until(lambda: services.stats()["messages"] > seen["messages"] + 10, "the stream goes on")
    services.tell("stop")

    services.configure(default_faults=False, faults=[{"on": {"service": "back"}, "inject": ["status:503"]}])
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    assert outgoing(run) == [], run
    if services.kind is KINDS["grpcio"]:  # the thread that writes may be another than the one that calls
        sites = [rpc["stack"][0] for rpc in run.test["reference"] if is_asked(rpc)]
        assert sites and all("front.py:" in site for site in sites), sites
    stats = services.stats()
    assert stats["failed"] == [], stats
    assert stats["calls"] > seen["calls"] and stats["messages"] > seen["messages"]


@pairs.each("kind, seed", [("grpcio", 1), ("grpc++", 2), ("node", 3)])
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_busy_connection_is_retired_under_short_reads_and_writes(project, kind, seed):
    """Parts of the PING leave alone, reads end inside the answer."""
    services = Services(project, KINDS[kind], {"TORTURE_SEED": str(seed), "TORTURE_SPARE": "1"})
    try:
        services.tell("start")
        wait_until(lambda: services.stats()["calls"] > 20 and services.stats()["messages"] > 2, "all is under way")
        (before,) = services.connections()
        services.configure()
        trace = project.filibuster("trace", timeout=120)
        assert trace.exit_code == 0 and "front -> back" in trace.output, trace
        seen = services.stats()
        assert before in services.connections() and len(services.connections()) > 1
        wait_until(lambda: services.stats()["messages"] > seen["messages"] + 10, "the stream goes on")
        assert services.stats()["failed"] == [], services.stats()
    finally:
        services.end()


def test_a_connection_that_was_joined_inside_a_frame_is_retired(project):
    """The rest of that frame looks like the header of another one, 256 times as long: what follows lies in it."""
    services = Services(project, Http(["node", HERE / "back.mjs"], [PYTHON, HERE / "front_halves.py"]))
    try:
        services.tell("")
        services.tell("half")
        (before,) = services.connections()
        services.configure()
        trace = project.filibuster("trace")
        assert trace.exit_code == 0 and "front -> back" in trace.output, trace
        assert services.connections() - {before}, "another connection"
    finally:
        services.end()


KEPT = {
    "a client that would fail its requests": Http(["node", HERE / "back.mjs"], [PYTHON, HERE / "front_httpx.py"]),
    "a server that answers no PING": Http([PYTHON, HERE / "deaf.py"], ["node", HERE / "front.mjs"]),
}


@pytest.mark.parametrize("kind", KEPT.values(), ids=KEPT.keys())
def test_a_connection_that_cannot_be_retired_goes_on_and_is_listed(project, kind):
    services = Services(project, kind)
    try:
        assert [services.ask() for _ in range(3)] == [True] * 3
        before = services.connections()
        services.configure()
        run = project.filibuster("run")
        assert run.exit_code == 3, run  # nothing could be faulted
        assert not any(is_asked(rpc) for rpc in run.test["reference"])
        assert [row["reason"] for row in outgoing(run)] == ["http2-open-before"], run
        assert [services.ask() for _ in range(3)] == [True] * 3
        assert services.connections() == before and len(before) == 1
    finally:
        services.end()
