"""What the loader brings a proxy, and what it leaves as it is: processes that run are attached, and know nothing of it."""
import errno
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

import in_kernel
import loader_client
from attach_fixtures import BASIC, Told, caller, echo, loader, need, probed, proxy, started  # noqa: F401
from conftest import PROGRAMS, TESTS, wait_until
from loader_client import EXIT, READ, WRITE

pytestmark = pytest.mark.alone
HERE = TESTS / "attach"
GONE = 2 ** 22 + 1  # above the largest process number that Linux gives


def attached(proxy, service, processes, ports=(), **more):
    reply = proxy.attach(service, processes, ports, **more)
    assert reply.error == 0, reply
    return reply


def test_a_new_connection_leads_through_the_proxy_and_its_peer_is_the_one_that_was_wanted(caller, echo, proxy):
    attached(proxy, "users", [caller.pid])
    assert caller("get", "127.0.0.1", echo.port) == f"200 127.0.0.1:{echo.port} POST /called HTTP/1.1"
    assert proxy.wanted == [("127.0.0.1", echo.port)]


def test_a_connection_to_a_mapped_address_leads_through_the_proxy(caller, echo, proxy):
    attached(proxy, "users", [caller.pid])
    assert caller("get", "::ffff:127.0.0.1", echo.port) == f"200 ::ffff:127.0.0.1:{echo.port} POST /called HTTP/1.1"
    assert proxy.wanted == [("127.0.0.1", echo.port)]


def test_a_connection_over_ipv6_leads_through_the_proxy(caller, proxy, started):
    if not socket.has_ipv6 or not pathlib.Path("/proc/net/if_inet6").exists():
        pytest.skip("NOT TESTED HERE: this machine has no IPv6: connections over it were not checked")
    port = loader_client.listener(socket.AF_INET6)
    number = port.getsockname()[1]
    port.close()
    server = subprocess.Popen(["/usr/bin/python3", HERE / "kept_server.py", "::1", str(number)])
    try:
        wait_until(lambda: caller("get", "::1", number).startswith("200"), "the server answers")
        attached(proxy, "users", [caller.pid])
        assert caller("get", "::1", number) == f"200 ::1:{number} POST /called HTTP/1.1"
        assert proxy.wanted == [("::1", number)]
    finally:
        server.kill()
        server.wait()


def test_a_process_that_is_not_attached_connects_as_ever(caller, echo, proxy, started):
    other = started(Told, PROGRAMS / "attach_caller")
    attached(proxy, "users", [caller.pid])
    assert other("get", "127.0.0.1", echo.port).startswith("200")
    assert proxy.wanted == []


def test_a_connect_to_where_nobody_listens_is_refused_as_ever(caller, proxy):
    port = loader_client.listener(socket.AF_INET)
    number = port.getsockname()[1]
    port.close()
    attached(proxy, "users", [caller.pid])
    for host in ("127.0.0.1", "127.0.0.2", "::ffff:127.0.0.1", "::1"):
        assert caller("get", host, number) == f"failed {errno.ECONNREFUSED}"
    assert proxy.wanted == []


def test_a_connection_to_the_daemon_is_not_redirected(caller, proxy, echo):
    """The daemon is the process that has started the loader: this one."""
    with loader_client.listener(socket.AF_INET) as daemon:
        attached(proxy, "users", [caller.pid])
        caller.tell("get", "127.0.0.1", daemon.getsockname()[1])
        accepted, source = daemon.accept()
        with accepted:
            accepted.recv(4096)
            accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        assert caller.answer().startswith("200")
        assert proxy.wanted == []


def test_new_connections_to_an_attached_server_are_steered_and_those_of_the_proxy_are_not(caller, echo, proxy):
    attached(proxy, "movies", [echo.pid], [echo.port])
    assert caller("get", "127.0.0.1", echo.port).startswith("200")
    assert proxy.steered == [("127.0.0.1", echo.port)]
    proxy.connection.detach()
    assert caller("get", "127.0.0.1", echo.port).startswith("200")
    assert proxy.steered == [("127.0.0.1", echo.port)], "after the end new connections go direct"


def test_who_calls_an_attached_server_that_has_ended_is_refused(caller, echo, proxy):
    attached(proxy, "movies", [echo.pid], [echo.port])
    echo.end()
    wait_until(lambda: caller("get", "127.0.0.1", echo.port) == f"failed {errno.ECONNREFUSED}",
               "connections to the server that has ended are refused")


def functions(program):
    """{name: (first address, end)} of the functions of a program."""
    lines = subprocess.run(["nm", "-C", "--print-size", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for line in lines.splitlines():
        words = line.split(maxsplit=3)
        if len(words) == 4 and "(anonymous namespace)::" in words[3]:
            name = words[3].split("(anonymous namespace)::", 1)[1].split("(")[0]
            found.setdefault(name, (int(words[0], 16), int(words[0], 16) + int(words[1], 16)))
    return found


def names_of(stack, table):
    return [next((name for name, (start, end) in table.items() if start <= at < end), None) for at in stack]


WAYS = {"tracepoint": "tp_btf writes", "fentry": "fentry writes", "sk_msg": "sk_msg writes"}


@pytest.mark.parametrize("way", WAYS)
def test_who_writes_is_known_before_the_bytes_arrive(way, caller, echo, started):
    need(*BASIC)
    need(WAYS[way], instead=WAYS.values())
    proxy = started(loader_client.Proxy, started(loader_client.Loader, "--writes", way))
    attached(proxy, "users", [caller.pid])
    caller("kept", "127.0.0.1", echo.port)
    caller("kept", "127.0.0.1", echo.port)
    thread = int(caller("thread", "127.0.0.1", echo.port).split()[0])
    caller("bytes", "127.0.0.1", echo.port, 100000)
    first, second, third, fourth = proxy.seen(WRITE)[:4]
    size = first.size
    assert [(event.position, event.size) for event in (first, second, third)] == [(0, size), (size, size), (0, size)]
    assert first.local == second.local != third.local
    assert first.remote == ("127.0.0.1", proxy.outbound[0].getsockname()[1])
    assert (first.tgid, first.tid) == (caller.pid, caller.pid)
    assert (third.tgid, third.tid) == (caller.pid, thread)
    assert first.slot == proxy.reply.slot and first.task == 0 and first.flags == 0
    assert (fourth.position, fourth.size > 100000) == (0, True)
    table = functions(PROGRAMS / "attach_caller")
    assert names_of(first.stack, table)[:3] == ["write_here", "send_request", "exchange"] or \
        names_of(first.stack, table)[:2] == ["write_here", "exchange"], names_of(first.stack, table)


@pytest.mark.parametrize("way", WAYS)
def test_each_byte_of_a_large_request_has_a_writer(way, caller, echo, started):
    need(*BASIC)
    need(WAYS[way], instead=WAYS.values())
    proxy = started(loader_client.Proxy, started(loader_client.Loader, "--writes", way))
    attached(proxy, "users", [caller.pid])
    size = 3 << 20
    caller("bytes", "127.0.0.1", echo.port, size)
    known = 0
    for event in proxy.seen(WRITE):
        assert event.position <= known, "no gap between what two events say"
        known = max(known, event.position + event.size)
    assert known >= size


def test_what_each_thread_of_a_server_has_read_is_known(caller, echo, proxy):
    sizes_are_known = probed()["tp_btf reads"]["works"]
    need("tp_btf reads" if sizes_are_known else "tp_btf reads without their size")
    attached(proxy, "movies", [echo.pid], [echo.port])
    caller("get", "127.0.0.1", echo.port)
    caller("get", "127.0.0.1", echo.port)
    first, second = proxy.seen(READ)
    assert first.tgid == second.tgid == echo.pid and first.tid != second.tid
    assert first.local == ("127.0.0.1", echo.port) and first.remote != second.remote
    assert first.stack == ()
    if sizes_are_known:
        assert first.position == 0 and first.size > 0
    else:
        assert first.position > 0 and first.size == 0, "the size is not known, and the bytes are read already"


def test_a_forked_child_is_attached_and_its_end_is_told(caller, echo, proxy):
    attached(proxy, "users", [caller.pid])
    child = int(caller("fork", "127.0.0.1", echo.port).split()[0])
    assert proxy.wanted == [("127.0.0.1", echo.port)]
    assert [event.tgid for event in proxy.seen(WRITE)] == [child]
    wait_until(lambda: [event.tgid for event in proxy.seen(EXIT)] == [child], "the end of the child is told")


def test_a_process_of_another_session_is_refused_and_the_other_one_is_named(caller, proxy, loader, started):
    attached(proxy, "users", [caller.pid])
    second = started(loader_client.Proxy, started(loader_client.Loader))
    reply = second.attach("users", [caller.pid])
    assert (reply.error, reply.step) == (errno.EBUSY, "pid")
    assert f"pid {caller.pid} is attached already" in reply.text and f"process {loader.process.pid}" in reply.text


def test_a_child_of_an_attached_process_belongs_to_the_same_session(proxy, loader, started):
    shell = started(Told, "sh", "-c", "read line; sleep 1000 & echo $!; read line")
    attached(proxy, "users", [shell.pid])
    child = int(shell("go"))
    second = started(loader_client.Proxy, started(loader_client.Loader))
    try:
        # Until its session has heard of it, another one may claim the child.
        claim = f"@filibuster-bpf/{child}\n"
        wait_until(lambda: claim in pathlib.Path("/proc/net/unix").read_text(), "the child is claimed")
        reply = second.attach("users", [child])
        assert reply.error == errno.EBUSY and f"process {loader.process.pid}" in reply.text, reply
    finally:
        subprocess.run(["kill", str(child)], check=True)


def test_two_sessions_do_not_disturb_each_other(caller, echo, proxy, started):
    other = started(Told, PROGRAMS / "attach_caller")
    second = started(loader_client.Proxy, started(loader_client.Loader))
    attached(proxy, "users", [caller.pid])
    attached(second, "movies", [other.pid])
    caller("get", "127.0.0.1", echo.port)
    assert (len(proxy.wanted), len(second.wanted)) == (1, 0)
    other("get", "127.0.0.1", echo.port)
    assert (len(proxy.wanted), len(second.wanted)) == (1, 1)
    second.connection.detach()
    caller("get", "127.0.0.1", echo.port)
    other("get", "127.0.0.1", echo.port)
    assert (len(proxy.wanted), len(second.wanted)) == (2, 1)


def test_a_process_that_went_away_is_refused(caller, proxy):
    reply = proxy.attach("users", [GONE], start_times=[1])
    assert (reply.error, reply.step) == (errno.ESRCH, "pid")
    reply = proxy.attach("users", [caller.pid], start_times=[loader_client.start_time(caller.pid) + 1])
    assert (reply.error, reply.step) == (errno.ESRCH, "pid") and "is another process by now" in reply.text


def test_nothing_is_left_of_an_attach_that_fails(caller, echo, proxy, loader, started):
    reply = proxy.attach("users", [caller.pid, GONE], start_times=[loader_client.start_time(caller.pid), 1])
    assert reply.error == errno.ESRCH
    in_kernel.wait_until_nothing_is_held(loader)
    first = started(loader_client.Proxy, loader)
    attached(first, "movies", [echo.pid], [echo.port])
    second = started(loader_client.Proxy, loader)
    reply = second.attach("users", [caller.pid], [echo.port])
    assert (reply.error, reply.step) == (errno.EEXIST, "ports") and str(echo.port) in reply.text
    assert attached(second, "users", [caller.pid]).slot != first.reply.slot


def test_without_capabilities_the_answer_says_what_to_do(caller, started):
    need(*BASIC)
    loader = started(lambda: loader_client.Loader(within=["setpriv", "--bounding-set", "-net_admin"]))
    reply = started(loader_client.Proxy, loader).attach("users", [caller.pid])
    assert (reply.error, reply.step) == (errno.EPERM, "capabilities")
    assert "CAP_NET_ADMIN" in reply.text and "setcap cap_bpf" in reply.text


def test_a_loader_that_has_its_capabilities_from_its_file_lends_them_to_nobody(started, caller, echo):
    need(*BASIC, "pidfd_getfd")
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    four = "+bpf,+net_admin,+perfmon,+sys_ptrace"
    with tempfile.TemporaryDirectory() as folder:  # that nobody may enter
        os.chmod(folder, 0o755)
        for program in (loader_client.LOADER, PROGRAMS / "attach_caller"):
            shutil.copy(program, folder)
        own = started(Told, *nobody, f"{folder}/attach_caller")
        assert own("get", "127.0.0.1", echo.port).startswith("200")
        loader = started(lambda: loader_client.Loader(within=[*nobody, "--inh-caps", four, "--ambient-caps", four],
                                                      program=f"{folder}/{loader_client.LOADER.name}"))
        proxy = started(loader_client.Proxy, loader)
        reply = proxy.attach("users", [caller.pid])
        assert (reply.error, reply.step) == (errno.EPERM, "pid") and "belongs to another user" in reply.text
        reply = proxy.attach("users", [own.pid], [echo.port])
        assert (reply.error, reply.step) == (errno.EPERM, "ports") and str(echo.port) in reply.text
        attached(proxy, "users", [own.pid])
        assert own("get", "127.0.0.1", echo.port) == f"200 127.0.0.1:{echo.port} POST /called HTTP/1.1"
        assert proxy.wanted == [("127.0.0.1", echo.port)]


def test_without_a_cgroup2_mount_the_answer_says_how_to_make_one(caller, started):
    need(*BASIC)
    unmount = ("while grep -q cgroup2 /proc/mounts; do umount $(awk '$3 == \"cgroup2\" {print $2; exit}' /proc/mounts); "
               "done; exec \"$@\"")
    loader = started(lambda: loader_client.Loader(within=["unshare", "--mount", "sh", "-c", unmount, "sh"]))
    reply = started(loader_client.Proxy, loader).attach("users", [caller.pid])
    assert (reply.error, reply.step) == (errno.ENOENT, "cgroup2 mount")
    assert "mount -t cgroup2" in reply.text


def test_the_loader_keeps_four_capabilities(loader, proxy, caller):
    attached(proxy, "users", [caller.pid])
    status = pathlib.Path(f"/proc/{loader.process.pid}/status").read_text()
    has = {line.split(":")[0]: int(line.split(":")[1], 16) for line in status.splitlines() if line.startswith("Cap")}
    net_admin, sys_ptrace, sys_admin, perfmon, bpf = 12, 19, 21, 38, 39
    assert has["CapEff"] == sum(1 << number for number in (net_admin, sys_ptrace, perfmon, bpf))
    # Where only an administrator may open uprobes, that is in reserve (bpf/loader/capabilities.h).
    paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    assert has["CapPrm"] == has["CapEff"] | (1 << sys_admin if paranoid > 2 else 0)


def test_the_probe_tells_of_each_feature_whether_it_works():
    need()
    for row in probed().values():
        assert set(row) == {"feature", "works", "answer", "what_to_do"}
        assert (row["answer"] == "works") == row["works"]
    assert set(BASIC) | set(WAYS.values()) | {"uprobe", "pidfd_getfd"} <= set(probed())


def test_killed_with_kill_9_the_loader_leaves_nothing_and_new_connections_go_direct(caller, echo, proxy, loader):
    attached(proxy, "users", [caller.pid])
    caller("get", "127.0.0.1", echo.port)
    loader.remember()
    assert loader.held["link"], "there is something to be left"
    loader.process.send_signal(signal.SIGKILL)
    loader.process.wait()
    in_kernel.wait_until_no_program_is_left(loader)
    assert caller("get", "127.0.0.1", echo.port) == f"200 127.0.0.1:{echo.port} POST /called HTTP/1.1"
    assert len(proxy.wanted) == 1
    assert loader_client.readable(proxy.connection.end), "the proxy sees that the loader is gone"
