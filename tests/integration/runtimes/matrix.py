"""Which request caused an RPC: the share that is attributed rightly, wrongly, not at all.

A service under test answers GET /n by calls of BACK/n/..., and of itself at /n/self, which calls BACK/n/self/... (GETs, and
POSTs in one write and in two):
the id that each downstream call repeats says what truly caused it. A background caller of the same process
(BACK/background/...) is caused by nothing.

    shares = run(project, server_command, concurrency)     # command with ${port:web} and ${port:back}

Every RPC of the service is judged: right: its parent is the request it belongs to (for the background: none);
wrong: another; none: not known, and listed as such.
"""
import dataclasses
import glob
import re

from conftest import BUILD, PROGRAMS, PYTHON, TESTS
from rpc_tree import observe
from small_apps import relay, url

HERE = TESTS / "runtimes"


@dataclasses.dataclass
class Shares:
    right: list
    wrong: list
    none: list
    background: int  # RPCs of the background caller that have no parent, as they should
    causes: set
    run: object = None

    @property
    def total(self):
        return len(self.right) + len(self.wrong) + len(self.none)

    def row(self):
        total = max(1, self.total)
        return (f"{len(self.right) / total:7.2%} {len(self.wrong) / total:7.2%} {len(self.none) / total:7.2%} "
                f"{self.total:5} rpcs, {self.background:4} of the background, by {', '.join(sorted(self.causes))}")


def cause_of_path(path):
    """The path of the request that issues an RPC to `path`; None: no request does."""
    parts = path.strip("/").split("/")
    if parts[0] == "background":
        return None
    return "/" + "/".join(parts[:-1])


def path_of(rpc):
    """What the RPC asked for: its path, or what the answer of a gRPC service repeats, between two '@'."""
    if not rpc["path"].startswith("/matrix."):
        return rpc["path"]
    found = re.search("@([^@]*)@", rpc["response"])
    assert found, f"an RPC without its answer: {rpc}"
    return found[1]


def judge(run, caller="web"):
    by_index = {rpc["index"]: rpc for rpc in run.test["reference"]}
    shares = Shares([], [], [], 0, set(), run)
    for rpc in run.test["reference"]:
        if rpc["caller"] != caller:
            continue
        path = path_of(rpc)
        expected = cause_of_path(path)
        parent = path_of(by_index[rpc["parent"]]) if rpc["parent"] else None
        if expected is None and parent is None:
            shares.background += 1
        elif parent is None:
            shares.none.append(path)
        elif parent == expected:
            shares.right.append(path)
            shares.causes.add(rpc["cause"])
        else:
            shares.wrong.append((path, parent, rpc["cause"]))
    return shares


def run(project, server_command, concurrency, rounds=1, env=None, **members):
    """`concurrency` requests at once, `rounds` times on connections that stay open."""
    web = {"name": "web", "command": server_command, **({"env": env} if env else {})}
    command = f"exec {PYTHON} {HERE}/clients.py {concurrency} {rounds} {url('web', '')}"
    return judge(observe(project, [relay("back"), web], command, complete=False, **members))


def python_server(server, client):
    return f"exec {PYTHON} {HERE}/server.py {server} {client} ${{port:web}} {url('back', '')}"


def node_server(client):
    return f"exec node {HERE}/server.js {client} ${{port:web}} {url('back', '')}"


def ruby_server(server, client):
    return f"exec ruby {HERE}/server.rb {server} {client} ${{port:web}} {url('back', '')}"


def java_server(client):
    java = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/java"))), "java")
    return f"exec {java} -cp {BUILD}/tests/java Matrix {client} ${{port:web}} {url('back', '')}"


def gunicorn_server(client, options):
    """With the environment of it."""
    command = f"exec gunicorn --chdir {HERE} -b 127.0.0.1:${{port:web}} --timeout 60 {options} 'server:app()'"
    return command, {"CLIENT": client, "BACK": url("back", ""), "OWN": url("web", "")}


def run_grpc(project, server, client, concurrency, rounds=1, tls="", **members):
    """The same with a gRPC service: C++ (sync, async, callback), Python (grpc, grpc.aio). `tls`: all of it over TLS."""
    env = {"env": {"TLS": str(tls)}} if tls else {}
    program = f"{PROGRAMS}/grpc_matrix" if server in ("sync", "async", "callback") else f"{PYTHON} {HERE}/grpc_service.py"
    web = {"name": "web", "command": f"exec {program} {server} {client} ${{port:web}} localhost:${{port:back}}", **env}
    answers = {"name": "back", "command": f"exec {PYTHON} {HERE}/grpc_service.py back - ${{port:back}}", **env}
    command = f"export TLS={tls}; exec {PYTHON} {HERE}/grpc_clients.py {concurrency} {rounds} localhost:${{port:web}}"
    services = [relay("back") if client == "http" else answers, web]
    return judge(observe(project, services, command, complete=False, **members))
