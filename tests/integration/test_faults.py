"""Every fault at every kind of caller: it sees what a real failure would show, and the server received the request
exactly when the fault is one 'after effect'. Faults hit the RPC that they were planned for, or the execution counts for nothing."""
import json
import os
import re
import shutil
import signal
import time

import pytest

import pairs
from conftest import BUILD, PROGRAMS, PYTHON, REPOSITORY, wait_until
from small_apps import APPS, config, printed, printing, rows_of, url

BODY = '{"from": "the fault"}'
OBJECT = {"status": 429, "body": BODY, "headers": {"Retry-After": "7", "Content-Type": "application/json"}}
FAULTS = ["refused", "reset", "timeout", "status:500", "status:502", "status:503",
          "reset:after", "timeout:after", "status:503:after"]
SERVED = 'status 200, {"from": "the server"}, Retry-After None'
GIVEN = f"status 429, {BODY}, Retry-After 7"


def counting(name="back", *addresses, **members):
    addresses = addresses or (f"127.0.0.1:${{port:{name}}}",)
    return {"name": name, "command": f"exec {PYTHON} {APPS}/counting.py received-{name} " + " ".join(addresses), **members}


def explore(project, services, command, faults=(*FAULTS, OBJECT), on=None, received="received-back", **members):
    """{fault: what record.py wrote down} of a run with single faults; '' is the execution without one."""
    named = [fault for fault in faults if isinstance(fault, str)]
    names = ",".join(dict.fromkeys([*FAULTS, "status:429", "status:200", *named]))
    environment = {"PYTHONPATH": str(REPOSITORY / "cli" / "python")}
    project.write("filibuster.json", config(
        services, [{"name": "caller", "env": environment,
                    "command": f"exec {PYTHON} {APPS}/record.py seen {received} {names} {command}"}],
        **{"fault_test_calls": True, "default_faults": False,
           "faults": [{"on": on or {}, "inject": list(faults)}], "bounds": {"max_faults": 1, "reference_executions": 1}, **members}))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    rows = rows_of(run)
    assert len({row["execution"] for row in rows}) == len(rows) == run.executed == len(faults) + 1, run
    assert "plan not met" not in run.output, run
    assert all(len(row["faults"]) <= 1 for row in rows), rows
    return run, {"".join(row["faults"]): row for row in rows}


def outcomes(seen):
    return {fault: row["output"] for fault, row in seen.items()}


def assert_effects(seen, path="/x"):
    """The server received the request unless a fault kept it away."""
    for fault, row in seen.items():
        times = 1 if fault == "" or fault.endswith(":after") else 0
        got = [line for lines in row["received"].values() for line in lines if line == f"GET {path}"]
        assert len(got) == times, (fault, row)


def statuses(*numbers):
    return {f"status:{number}": f"status {number}, , Retry-After None" for number in numbers}


# What each library makes of the three failures of a connection.
EXCEPTIONS = {
    "requests": ("ConnectionError", "ConnectionError", "ReadTimeout"),
    "urllib": ("URLError", "ConnectionResetError", "TimeoutError"),
    "http.client": ("ConnectionRefusedError", "ConnectionResetError", "TimeoutError"),
    "asyncio": ("ConnectionRefusedError", "ConnectionResetError", "TimeoutError"),
    "unix": ("ConnectionRefusedError", "ConnectionResetError", "TimeoutError"),
}


def expected(refused, reset, timeout):
    return {"": SERVED, "refused": f"refused {refused}", "reset": f"reset {reset}", "reset:after": f"reset {reset}",
            "timeout": f"timeout {timeout}", "timeout:after": f"timeout {timeout}", "status:429": GIVEN,
            **statuses(500, 502, 503), "status:503:after": "status 503, , Retry-After None"}


# requests and urllib, and with it http.client, are in test_http_faults.py, too.
@pairs.only("library", ["asyncio"])
@pytest.mark.parametrize("library", ["requests", "urllib", "http.client", "asyncio"])
def test_libraries_of_python_see_each_fault(project, library):
    _, seen = explore(project, [counting()], f"{PYTHON} {APPS}/caller.py {library} {url('back', '/x')}")
    assert outcomes(seen) == expected(*EXCEPTIONS[library])
    assert_effects(seen)


def test_a_reused_connection_is_reset_where_it_cannot_be_refused(project):
    run, seen = explore(project, [counting()], f"{PYTHON} {APPS}/caller.py reused {url('back', '/x')}", on={"path": "/x"})
    wanted = expected("", "ConnectionResetError", "TimeoutError") | {"refused": "reset ConnectionResetError"}
    assert outcomes(seen) == wanted
    assert_effects(seen)
    assert all(row["received"]["received-back"][0] == "GET /first" for row in seen.values())
    said = json.dumps(run.test) + run.output
    assert re.search(r"refused.{0,200}reset|reset.{0,200}refused", said, re.S), run


# What curl makes of each fault is in test_http_faults.py.
@pytest.mark.whole
@pytest.mark.skipif(not shutil.which("curl"), reason="NOT TESTED: curl not installed")
def test_curl_sees_each_fault(project):
    _, seen = explore(project, [counting()],
                      f"curl -sS --max-time 1 -w ' %{{http_code}} %header{{retry-after}}' {url('back', '/x')}")
    codes = {"": 0, "refused": 7, "reset": 56, "reset:after": 56, "timeout": 28, "timeout:after": 28}
    assert {fault: row["exit"] for fault, row in seen.items()} == {fault: codes.get(fault, 0) for fault in seen}
    answers = {fault: row["output"] for fault, row in seen.items() if row["exit"] == 0}
    assert answers == {"": '{"from": "the server"} 200', "status:429": f"{BODY} 429 7", "status:500": "500",
                       "status:502": "502", "status:503": "503", "status:503:after": "503"}
    assert_effects(seen)


def test_cpp_httplib_sees_each_fault(project):
    """The gateway takes its reviews from review-ml; when that fails, from review-time."""
    gateway = BUILD / "corpus" / "expedia" / "api_gateway"
    if not gateway.exists():
        pytest.skip(f"NOT TESTED: {gateway} is not built")
    services = [counting("ml"), counting("time"),
                {"name": "gateway", "command": f"exec {gateway} ${{port:gateway}}",
                 "env": {"REVIEW_ML_URL": url("ml", ""), "REVIEW_TIME_URL": url("time", "")}}]
    answer = {"status": 200, "body": '{"stars": 5}', "headers": {"Content-Type": "application/json"}}
    _, seen = explore(project, services, f"curl -sS {url('gateway', '/hotels/7')}", (*FAULTS, answer), {"service": "ml"},
                      received="received-ml,received-time")
    for fault, row in seen.items():
        reviews = json.loads(row["output"])["reviews"]
        assert reviews == ({"stars": 5} if fault == "status:200" else {"from": "the server"}), row
        reached = 1 if fault == "" or fault.endswith(":after") else 0
        assert len(row["received"]["received-ml"]) == reached, (fault, row)
        assert len(row["received"]["received-time"]) == (0 if fault in ("", "status:200") else 1), (fault, row)


# The name that has addresses of both families.
@pairs.only("id", ["addresses2"])
@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("[::1]",), ("[::1]", "127.0.0.1")])
def test_a_name_is_refused_at_all_of_its_addresses(project, addresses):
    service = counting("back", *(f"'{address}:${{port:back}}'" for address in addresses), ready={"log": "counting"})
    _, seen = explore(project, [service], f"{PYTHON} {APPS}/caller.py two http://localhost:${{port:back}}/x",
                      ["refused", "reset", "status:503"])
    assert outcomes(seen) == {"": SERVED, "refused": "refused ConnectionRefusedError",
                              "reset": "reset ConnectionResetError", **statuses(503)}
    assert_effects(seen)


def test_a_unix_socket_sees_each_fault(project):
    path = project.directory / "back.sock"
    service = counting("back", str(path), ready={"log": "counting"}, ports=[])
    _, seen = explore(project, [service], f"{PYTHON} {APPS}/caller.py unix http://localhost/x {path}")
    assert outcomes(seen) == expected(*EXCEPTIONS["unix"])
    assert_effects(seen)


# --- a daemon that does not live ----------------------------------------------------------------

# Makes a call, so that its agent is there; from the second execution on says that it waits, and makes the call of the
# rule when it is told to.
WAITING = """
import http.client, os, sys, time
def get(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    try:
        connection.request("GET", path)
        return str(connection.getresponse().status)
    except OSError as error:
        return type(error).__name__
n = len(open("seen").readlines()) if os.path.exists("seen") else 0
assert get("/first") == "200"
if 1 <= n <= int(sys.argv[2]):
    open(f"waiting-{n}", "w")
    while not os.path.exists(f"go-{n}"): time.sleep(0.01)
with open("seen", "a") as seen: print(get("/x"), file=seen)
"""
LEASE = 1.0  # seconds; docs/architecture.md


def outlive_the_lease(project, n):
    """Stops the daemon while the n-th execution with the fault waits, until its lease is over and the RPC has passed."""
    directory = project.directory
    wait_until(lambda: (directory / f"waiting-{n}").exists(), "the execution with the fault waits")
    daemon = project.daemon()["pid"]
    os.kill(daemon, signal.SIGSTOP)
    try:
        stopped = time.monotonic()
        wait_until(lambda: time.monotonic() - stopped > LEASE * 1.1, "the lease is over")
        project.write(f"go-{n}", "")
        wait_until(lambda: (directory / "seen").read_text().count("\n") == n + 1, "the RPC has ended")
    finally:
        os.kill(daemon, signal.SIGCONT)


def test_a_registration_while_the_connection_is_replaced_is_not_lost(project):
    """The thread that waits registers the connection while another one writes the request, at ever later moments."""
    count, step_us = 40, 15
    project.write("filibuster.json", config(
        [counting()], [{"name": "caller", "command": printing(f"{PROGRAMS}/late_registration ${{port:back}} {count} {step_us}", end="")}],
        fault_test_calls=True, default_faults=False, faults=[{"on": {}, "inject": ["reset"]}],
        bounds={"max_faults": 1, "reference_executions": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == count + 1, run
    seen = [text.split() for text in printed(run)]
    faultless = ["200"] * count
    assert sorted(seen) == sorted([faultless] + [faultless[:i] + ["reset"] + faultless[i + 1:] for i in range(count)])


@pairs.each("fault, stalls", [("status:503", 1), ("refused", 2)])
@pytest.mark.parametrize("stalls", [1, 2], ids=["once", "always"])
@pytest.mark.parametrize("fault,shown", [("status:503", "503"), ("refused", "ConnectionRefusedError")])
def test_a_fault_does_not_fire_once_the_lease_has_expired(project, fault, shown, stalls):
    """The execution is made again, once: what passes without its fault is never a pass."""
    project.write("waiting.py", WAITING)
    project.write("filibuster.json", config(
        [counting()], [{"name": "caller", "command": f"exec {PYTHON} waiting.py ${{port:back}} {stalls}"}],
        fault_test_calls=True, default_faults=False, faults=[{"on": {"path": "/x"}, "inject": [fault]}],
        bounds={"reference_executions": 1}))
    process = project.start("run")
    for n in range(1, stalls + 1):
        outlive_the_lease(project, n)
    output, errors = process.communicate(timeout=60)
    seen = (project.directory / "seen").read_text().splitlines()
    assert seen == (["200", "200", shown] if stalls == 1 else ["200"] * 3), "no fault from a daemon that may be dead"
    (test,) = json.loads((project.root / "report.json").read_text())["tests"]
    not_met = [row for row in test["skipped"] if "plan not met" in row["reason"]]
    assert test["findings"] == [], output
    assert len(not_met) == stalls - 1, (test, output, errors)
    assert all("lease" in row["reason"] for row in not_met), not_met


# --- precision ----------------------------------------------------------------------------------

# Two processes of two threads each, on connections of their own, at the same time.
CLIENTS = """
import http.client, os, sys, threading
each, same = int(sys.argv[2]), sys.argv[3:] == ["same"]
def client(name, out):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    for n in range(each):
        path = "/same" if same else f"/{name}/{n}"
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            os.write(out, f"{path} {response.status}\\n".encode())
    os.write(out, b"done\\n")
out = os.open("hits-" + os.environ["FILIBUSTER_EXECUTION"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
child = os.fork()
threads = [threading.Thread(target=client, args=(f"{'b' if child else 'a'}{n}", out)) for n in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if child == 0: os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


# Ten thousand requests are the point of it.
@pytest.mark.whole
@pytest.mark.parametrize("same", ["", "same"], ids=["one-path", "all-alike"])
def test_ten_thousand_interleaved_requests_and_one_planned_fault(project, same):
    """`one-path`: the rule names one request of the 10,000; `all-alike`: all have one signature, the count tells them apart."""
    project.write("clients.py", CLIENTS)
    server = {"name": "back", "command": f"exec {PROGRAMS}/http_echo_server threads ${{port:back}}"}
    project.write("filibuster.json", config(
        [server], [{"name": "clients", "command": f"exec {PYTHON} clients.py ${{port:back}} 2500 {same}"}],
        fault_test_calls=True, default_faults=False, bounds={"max_executions": 2},
        faults=[{"on": {} if same else {"path": "/a1/1250"}, "inject": ["status:503"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    assert len(run.test["reference"]) == 10_000
    hits = [path.read_text().splitlines() for path in sorted(project.directory.glob("hits-*"))
            if int(path.name.removeprefix("hits-")) not in run.repeated | run.looked_again]
    assert [lines.count("done") for lines in hits] == [4] * 3, run  # two without the fault, compared
    faulted = [line for lines in hits for line in lines if line != "done"]
    assert faulted == (["/same 503"] if same else ["/a1/1250 503"]), run
    assert not any("plan not met" in row["reason"] for row in run.test["skipped"]), run.test["skipped"]


POLLING = """
import select, socket, sys, threading, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
order = []
def poll():
    wait = select.poll()
    wait.register(connection, select.POLLIN)
    order.append(connection.recv(1000)[9:12].decode() if wait.poll(3000) else "nothing")
def clock():
    time.sleep(3.75)
    order.append("later")
threads = [threading.Thread(target=each) for each in (poll, clock)]
for thread in threads:
    thread.start()
time.sleep(1.5)
connection.sendall(b"GET /x HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
for thread in threads:
    thread.join()
print(*order, flush=True)
"""


def test_a_wait_whose_connection_is_replaced_ends_when_it_would_have_ended(project):
    """A thread polls for 3 s; in the middle of that another one writes a request that gets no answer. Time is the subject: a
    wait that began anew there would end after 4.5 s."""
    project.write("polling.py", POLLING)
    project.write("filibuster.json", config(
        [counting()], [{"name": "poll", "command": printing(f"{PYTHON} polling.py ${{port:back}}", end="")}],
        fault_test_calls=True, default_faults=False, faults=[{"on": {}, "inject": ["timeout"]}], bounds={"reference_executions": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    assert printed(run) == ["200 later\n", "nothing later\n"], run
