"""Other libraries that stand between a program and libc, before ours and behind it (docs/preload.md), and a clock that is not the
system's."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sysconfig

import pytest

from conftest import BUILD, PRELOAD, PYTHON
from small_apps import config, faults_by_caller, probe, relay, url

LIBRARIES = pathlib.Path("/usr/lib", sysconfig.get_config_var("MULTIARCH"))

# Name: the library of a package of Debian, and the environment that it needs. Time is set on and slowed, and stands still.
INTERPOSERS = {
    "jemalloc": ("libjemalloc.so.2", {}),
    "tcmalloc": ("libtcmalloc_minimal.so.4", {}),
    "eatmydata": ("libeatmydata.so.1", {}),
    "faketime": ("faketime/libfaketime.so.1", {"FAKETIME": "+30d x0.5"}),
    "standstill": ("faketime/libfaketime.so.1", {"FAKETIME": "2020-01-01 00:00:00"}),
    "proxychains": ("libproxychains.so.4", {"PROXYCHAINS_CONF_FILE": "proxychains.conf", "PROXYCHAINS_QUIET_MODE": "1"}),
    "torsocks": ("torsocks/libtorsocks.so", {"TORSOCKS_CONF_FILE": "torsocks.conf"}),
    "asan": ("libasan.so.8", {"ASAN_OPTIONS": "detect_leaks=0"}),
    "tsan": ("libtsan.so.2", {}),
    "ubsan": ("libubsan.so.1", {}),
}


def behind(name, library, env):
    """The session puts ours before what the service has."""
    return relay(f"behind-{name}", "stock", env={**env, "LD_PRELOAD": str(library)})


def before(name, library, env):
    service = relay(f"before-{name}", "stock", env=env)
    program = service["command"].removeprefix("exec ")
    return {**service, "command": f'LD_PRELOAD={library}:"$LD_PRELOAD" exec {program}'}


def test_interposers_before_and_behind_ours_change_nothing(project):
    # Neither sends what stays on this machine to its proxy.
    project.write("proxychains.conf", "strict_chain\nlocalnet 127.0.0.0/255.0.0.0\n[ProxyList]\nsocks5 127.0.0.1 1\n")
    project.write("torsocks.conf", "AllowInbound 1\nAllowOutboundLocalhost 1\n")
    services = [order(name, LIBRARIES / library, env) for name, (library, env) in INTERPOSERS.items() for order in (behind, before)]
    names = ["front", *(service["name"] for service in services)]
    project.write("filibuster.json", config(
        [relay("stock"), relay("front", "stock"), *services], [probe(*map(url, names), expected="200,503")]))
    run = project.filibuster("run", "--max-faults", "1", "--fault", "status:503")
    assert run.exit_code == 0, run
    found = faults_by_caller(run)
    assert found == {name: 1 for name in names}, run
    assert run.test["dependencies_not_tested"] == [] and run.test["notes"] == [], run


# Closes and accepts by the functions of libc's file, as torsocks does, and gives the number of a closed call to the next caller.
PAST_THE_HOOKS = r"""
import ctypes, os, socket, sys
libc = ctypes.CDLL("libc.so.6")
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))


def serve():
    caller = libc.accept(listening.fileno(), None, None)
    while not os.read(caller, 4096):  # who only looks whether it listens; the next one gets the same number
        libc.close(caller)
        caller = libc.accept(listening.fileno(), None, None)
    called = socket.create_connection(("127.0.0.1", int(sys.argv[2]))).detach()
    os.write(called, b"GET / HTTP/1.1\r\nHost: stock\r\n\r\n")
    status = os.read(called, 4096).split(b" ")[1]
    os.write(caller, b"HTTP/1.1 %s Passed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
    libc.close(caller)
    return caller, called


while True:
    caller, called = serve()
    taken = os.open("/dev/null", os.O_RDONLY)
    assert taken == caller
    libc.close(called)
    accepted, again = serve()
    assert accepted == called
    os.close(taken)
    libc.close(again)
"""


def test_a_number_that_was_closed_and_accepted_past_the_hooks_is_that_of_another_connection(project):
    project.write("past.py", PAST_THE_HOOKS)
    past = {"name": "past", "command": f"exec {PYTHON} past.py ${{port:past}} ${{port:stock}}"}
    project.write("filibuster.json", config([relay("stock"), past], [probe(url("past"), url("past"), expected="200,503")]))
    run = project.filibuster("run", "--max-faults", "1", "--fault", "status:503")
    assert run.exit_code == 0 and faults_by_caller(run) == {"past": 2}, run
    assert [rpc["caller"] for rpc in run.test["reference"]] == ["test", "past", "test", "past"], run


def test_a_second_copy_of_the_library_is_inert_and_both_are_named(project):
    copy = project.directory / "copy.so"
    shutil.copy(PRELOAD, copy)
    project.write("filibuster.json", config(
        [relay("stock"), behind("copy", copy, {}), before("copy", copy, {})],
        [probe(url("behind-copy"), url("before-copy"), expected="200,503")]))
    run = project.filibuster("run", "--max-faults", "1", "--fault", "status:503")
    assert run.exit_code == 0, run
    found = faults_by_caller(run)
    assert found["behind-copy"] == found["before-copy"] == 1, run
    assert len(run.test["reference"]) == 4, "each call is seen once"
    texts = [note for note in run.test["notes"] if "two copies" in note]
    for first, second, service in ((PRELOAD, copy, "behind-copy"), (copy, PRELOAD, "before-copy")):
        assert any(f"{service}: two copies of the library are loaded: {first} is used, and {second} does nothing" in text
                   for text in texts), run


def test_a_service_in_a_time_namespace_of_its_own(project):
    enter = "unshare --time --monotonic 1000000 --fork"
    if subprocess.run(f"{enter} true", shell=True, capture_output=True).returncode != 0:
        pytest.skip("this kernel, or this user, makes no time namespaces")
    service = relay("ahead", "stock")
    project.write("filibuster.json", config(
        [relay("stock"), {**service, "command": service["command"].replace("exec ", f"exec {enter} ", 1)}],
        [probe(url("ahead"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and faults_by_caller(run)["ahead"] > 3, run
