"""The services of tests/programs/grpc_java and grpc_node: one machine that stays, told what to call and how."""
import collections
import glob
import sys

from conftest import BUILD, PYTHON, REPOSITORY, TESTS
from rpc_tree import observe
from small_apps import config, printed, printing, relay

HERE = TESTS / "grpc"
# What stands there for tests of other kinds.
sys.path += [str(HERE.parent / "http2"), str(HERE.parent / "runtimes")]

from calls import KINDS, SCRIPT, STUBS, failures, fault_where, server, value_of  # noqa: E402, F401
from matrix import cause_of_path, path_of  # noqa: E402

SERVICE = HERE.parent / "runtimes" / "grpc_service.py"
NODE_MODULES = BUILD / "tests" / "grpc_node" / "node_modules"
JAVA = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/java"))), "java")
ANSWERS = {"name": "back", "command": f"exec {PYTHON} {SERVICE} back - ${{port:back}}"}


def java_command(program, *words, flags=""):
    classpath = (BUILD / "tests" / "grpc_java" / "classpath").read_text().strip()
    return f"exec {JAVA} -XX:TieredStopAtLevel=1 {flags} -cp '{classpath}' {program} " + " ".join(words)


def java(back="back", flags="", **members):
    command = java_command("Gateway", "${port:gateway}", "${port:direct}", "${port:front}", f"${{port:{back}}}", "127.0.0.1:${port:pages}", flags=flags)
    return {"name": "gateway", "ports": ["gateway", "direct", "front"], "command": command, "ready": {"log": "serving"}, **members}


def node(back="back", env=None, **members):
    return {"name": "gateway", "env": {"NODE_PATH": str(NODE_MODULES), **(env or {})}, "command":
            f"exec node {REPOSITORY}/tests/programs/grpc_node/gateway.js ${{port:gateway}} ${{port:{back}}} ${{port:pages}}",
            "ready": {"log": "serving"}, **members}


def say(*words):
    return f"{PYTHON} {HERE}/ask.py say 127.0.0.1:${{port:gateway}} " + " ".join(map(str, words))


def ask(kinds, numbers, rounds=1, port="gateway"):
    verb = "get" if port == "front" else "matrix"
    return f"{PYTHON} {HERE}/ask.py {verb} 127.0.0.1:${{port:{port}}} {','.join(kinds)} {','.join(map(str, numbers))} {rounds}"


def of_gateway(run):
    """The calls that commands made."""
    return [rpc for rpc in run.test["reference"] if rpc["caller"] == "gateway" and rpc["path"].startswith("/calls.")]


def attributions(run):
    """{(kind, number in flight): Counter of 'right', 'none', 'wrong'} of the calls of the gateway; with 'background':
    Counter of what its own caller's have (which is nothing that came in)."""
    by_index = {rpc["index"]: rpc for rpc in run.test["reference"]}
    found = collections.defaultdict(collections.Counter)
    for rpc in run.test["reference"]:
        if rpc["caller"] != "gateway":
            continue
        path = path_of(rpc)
        parent = path_of(by_index[rpc["parent"]]) if rpc["parent"] in by_index else None
        if path.startswith("/background/"):
            found["background"]["right" if parent is None else "wrong"] += 1
            continue
        _, kind, name, *_ = path.split("/")
        verdict = "none" if parent is None else "right" if parent == cause_of_path(path) else "wrong"
        found[kind, int(name.split("-")[0])][verdict] += 1
    return found


def table(found):
    rows = []
    for key, counter in found.items():
        total = sum(counter.values())
        share = " ".join(f"{verdict} {counter[verdict] / total:7.2%}" for verdict in ("right", "wrong", "none"))
        rows.append(f"{key if key == 'background' else f'{key[0]:9} {key[1]}'}  {share}  of {total}")
    return "\n".join(rows)


def observe_matrix(project, gateway, *commands):
    services = [ANSWERS, relay("pages"), gateway]
    return observe(project, services, " && ".join(commands), complete=False)


def explore(project, gateway, command, injected=(), method=None, back=None, **members):
    """What the test printed in each execution with a fault at one call of the gateway; the first one had none."""
    on = {"caller": "gateway", **({"grpc": f"calls.Calls/{method}"} if method else {"grpc": "calls.Calls"})}
    project.write("filibuster.json", config(
        [back or server(name="back"), relay("pages"), gateway], [{"name": "client", "command": printing(command)}],
        **{"bounds": {"reference_executions": 1, "max_faults": 1}, "default_faults": False,
           "faults": [{"on": on, "inject": list(injected)}], **members}))
    run = project.filibuster("run")
    return run, printed(run)
