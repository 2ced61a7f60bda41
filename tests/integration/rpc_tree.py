"""What a session saw of one execution, as chains of RPCs that a test can write down, and what the same
programs answer without us."""
import contextlib
import os
import re
import signal
import subprocess

from conftest import accepts, free_port, wait_until
from small_apps import config


def chain(rpc, by_index):
    """'test>front GET /a 200 / front>back GET /a/0 200': the RPC under what caused it."""
    own = f"{rpc['caller']}>{rpc['service']} {rpc['method']} {rpc['path']} {rpc['status']}"
    if not rpc["parent"]:
        return own
    return chain(by_index[rpc["parent"]], by_index) + " / " + own


def chains(run):
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    assert len(by_index) == len(rpcs), "every RPC has an index of its own"
    return sorted(chain(rpc, by_index) for rpc in rpcs)


def causes(run, caller):
    return {rpc["cause"] for rpc in run.test["reference"] if rpc["caller"] == caller}


def attributions(run, caller="web"):
    """(right, unknown, wrong) over the RPCs of `caller`. Those of request /n are /n/0, /n/1, ..."""
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    right, unknown, wrong = [], [], []
    for rpc in rpcs:
        if rpc["caller"] != caller:
            continue
        if rpc["cause"] == "none":
            assert rpc["parent"] == ""
            unknown.append(rpc["path"])
        elif by_index[rpc["parent"]]["path"] == "/" + rpc["path"].split("/")[1]:
            right.append(rpc["path"])
        else:
            wrong.append((rpc["path"], by_index[rpc["parent"]]["path"]))
    return right, unknown, wrong


def observe(project, services, command, complete=True, **members):
    """One execution without faults. `complete`: every RPC has its cause, nothing was left alone."""
    project.write("filibuster.json", config(services, [{"name": "client", "command": command}],
                                            **{"default_faults": False, "bounds": {"reference_executions": 1}, **members}))
    run = project.filibuster("run")  # no fault was configured: nothing tested, 3
    assert run.exit_code == 3 and run.executed == 1 and run.test["finished"], run
    if complete:
        assert run.test["dependencies_not_tested"] == [], run.test["dependencies_not_tested"]
        assert run.test["without_cause"] == [], run.test["without_cause"]
        assert run.test["skipped"] == [], run.test["skipped"]
        assert all(rpc["cause"] != "none" for rpc in run.test["reference"])
        # A client that ends with a request under way may end before the server reads it: wrk does.
        assert [rpc for rpc in run.test["reference"] if not rpc["received_by"] and rpc["outcome"] != "open"] == []
    return run


def names_of_ports(service):
    ports = service.get("ports", [service["name"]])
    return list(ports)


@contextlib.contextmanager
def without_us(services, directory):
    """The same services as plain programs; gives the environment of the test and the ports."""
    ports = {name: free_port() for service in services for name in names_of_ports(service)}
    plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER")}
    plain |= {f"PORT_{re.sub('[^A-Z0-9]', '_', name.upper())}": str(port) for name, port in ports.items()}

    def filled(text):
        return re.sub(r"\$\{port:([^}]+)\}", lambda match: str(ports[match[1]]), text)

    processes = []
    try:
        for service in services:
            environment = plain | {key: filled(value) for key, value in service.get("env", {}).items()}
            log = directory / f"plain-{service['name']}.log"
            with log.open("w") as output:
                process = subprocess.Popen(["sh", "-c", filled(service["command"])], cwd=directory, env=environment,
                                           stdout=output, stderr=output, start_new_session=True)
            processes.append(process)
            text = service.get("ready", {}).get("log")
            wait_until(lambda: text in log.read_text() if text else
                       all(accepts(ports[name]) for name in names_of_ports(service)), f"{service['name']} serves")
        yield plain, filled
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def observe_and_compare(project, services, command, **members):
    """`observe`, after the same programs ran without us: the test prints the same."""
    with without_us(services, project.directory) as (environment, filled):
        plain = subprocess.run(["sh", "-c", filled(command)], cwd=project.directory, env=environment,
                               capture_output=True, text=True, timeout=60)
    assert plain.returncode == 0 and plain.stdout, plain.stdout + plain.stderr
    run = observe(project, services, f"{{ {command}\n}} > printed", **members)
    assert (project.directory / "printed").read_text() == plain.stdout
    return run
