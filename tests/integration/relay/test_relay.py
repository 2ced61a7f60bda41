"""The daemon's relay of faulted HTTP/2 connections, with real clients and servers at its ends. What the
agent does there is done by relay_proxy.cc: a request names its fault in its path or in a field."""
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import threading

import grpc
import pytest

from conftest import BUILD, PYTHON, TESTS, accepts, free_port, wait_until

HERE = TESTS / "relay"
FAULTS = ["status:503/9", "status:503/200000", "reset", "refused", "timeout", "grpc:UNAVAILABLE",
          "status:502:after/9", "grpc:ABORTED:after", "timeout:after", "reset:after", "status:204"]
NUMBER = {text: number for number, text in enumerate(FAULTS)}
LARGE = 20_000_000


def faulted(path, fault):
    return f"{path}?fault={NUMBER[fault]}"


class Proxy:
    def __init__(self, server_port, hang_limit_ms=60_000):
        self.process = subprocess.Popen(
            [BUILD / "tests" / "relay_proxy", str(server_port), str(hang_limit_ms), *FAULTS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def end(self):
        """What the record of the execution says: [lost events, note...]."""
        output, _ = self.process.communicate(timeout=20)
        lines = output.splitlines()
        assert lines[-1] == "ended"
        return lines[:-1]


def stop(process):
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """nginx; counts by its access log."""
    root, port = tmp_path_factory.mktemp("web"), free_port()
    (root / "small").write_text("small answer\n")
    (root / "large").write_bytes(os.urandom(LARGE))
    (root / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
        events {{ }}
        http {{
          access_log {root}/access.log; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
          fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
          client_max_body_size 100m; http2_max_concurrent_streams 1000; keepalive_requests 100000;
          server {{ listen 127.0.0.1:{port} http2; root {root}; }}
        }}""")
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([nginx, "-c", root / "nginx.conf", "-p", root])
    wait_until(lambda: accepts(port), "nginx listens")
    yield collections.namedtuple("Web", "port root")(port, root)
    stop(process)


@pytest.fixture
def proxy(web):
    made = Proxy(web.port)
    yield made
    if made.process.poll() is None:
        assert made.end() == ["lost 0"]


marks = itertools.count()


def paths_seen(web):
    """The paths that nginx has been asked for so far; it writes each when its answer is sent."""
    mark = f"/small?mark={next(marks)}"
    curl(f"http://127.0.0.1:{web.port}{mark}")

    def read():
        return [line.split('"')[1].split()[1] for line in (web.root / "access.log").read_text().splitlines()]
    wait_until(lambda: mark in read(), "nginx has written its log")
    return read()[:-1]


def curl(*arguments):
    return subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "--max-time", "30", *arguments],
                          capture_output=True, text=True)


# Of curl 7.88 no second request on a connection of prior knowledge works, also without us.
@pytest.mark.parametrize("path, wanted", [
    ("/small", "200 13"), (faulted("/small", "status:503/9"), "503 9"),
    (faulted("/small", "status:503/200000"), "503 200000"),
    (faulted("/large", "status:502:after/9"), "502 9"), (faulted("/small", "status:204"), "204 0")])
def test_curl_sees_statuses_and_the_server_only_what_it_is_to_see(web, proxy, path, wanted):
    before = len(paths_seen(web)) + 1
    run = curl("-w", "%{http_code} %{size_download}", "-o", "/dev/null", proxy.url(path))
    assert run.stdout == wanted, run.stderr
    reaches = "fault" not in path or path == faulted("/large", "status:502:after/9")
    assert paths_seen(web)[before:] == [path] * reaches


# A refused stream may be sent again (RFC 9113 8.7): curl does, over new connections.
@pytest.mark.parametrize("fault, exit_codes, text", [
    # Seen when it reads, or when it acknowledges the server's SETTINGS.
    ("reset", (55, 56), "reset by peer"), ("reset:after", (55, 56), "reset by peer"),
    ("refused", (56,), "tried 5 times"), ("timeout", (28,), "timed out"),
    ("timeout:after", (28,), "timed out")])
def test_curl_sees_failures(web, proxy, fault, exit_codes, text):
    before = len(paths_seen(web)) + 1
    run = curl("--max-time", "0.5", proxy.url(faulted("/small", fault)))
    assert run.returncode in exit_codes and run.stdout == "", run.stderr
    assert text in run.stderr
    assert len(paths_seen(web)) - before == (1 if fault.endswith("after") else 0)


def test_a_head_request_is_answered_without_a_body(proxy):
    run = curl("-I", proxy.url(faulted("/small", "status:503/9")))
    assert run.stdout.replace("\r", "").strip() == "HTTP/2 503 \ncontent-length: 9"


def test_h2load_counts_exactly_the_faulted_half(proxy, tmp_path):
    uris = tmp_path / "uris"
    uris.write_text(proxy.url("/small") + "\n" + proxy.url(faulted("/small", "status:503/9")) + "\n")
    run = subprocess.run(["h2load", "-n", "4000", "-c", "2", "-m", "100", "-i", str(uris)],
                         capture_output=True, text=True, timeout=120)
    assert re.search(r"4000 succeeded|2000 succeeded, 2000 failed", run.stdout), run.stdout
    assert "status codes: 2000 2xx, 0 3xx, 0 4xx, 2000 5xx" in run.stdout, run.stdout
    assert "0 errored, 0 timeout" in run.stdout, run.stdout


def test_nghttp_gets_its_other_streams_beside_a_reset_one(proxy):
    urls = [proxy.url(url) for url in ("/large", faulted("/small", "reset"), "/large?2")]
    run = subprocess.run(["nghttp", "-nv", *urls], capture_output=True, text=True, timeout=60)
    assert run.stdout.count("recv RST_STREAM") == 1, run.stdout[-3000:]
    assert "error_code=INTERNAL_ERROR(0x02)" in run.stdout
    assert run.stdout.count(":status: 200") == 2


# Requests [path, bytes to upload] on one session, all at once; what became of each.
NODE = r"""
const http2 = require('http2');
const crypto = require('crypto');
const session = http2.connect(process.argv[1]);
session.on('error', error => console.log('session', error.code));
const wanted = JSON.parse(process.argv[2]);
const results = wanted.map(() => ({status: 0, size: 0}));
let left = wanted.length;
wanted.forEach(([path, upload], n) => {
  const stream = session.request({':path': path, ':method': upload ? 'PUT' : 'GET'}, {endStream: !upload});
  const hash = crypto.createHash('sha256');
  const result = results[n];
  stream.on('response', headers => { result.status = headers[':status']; });
  stream.on('data', data => { result.size += data.length; hash.update(data); });
  stream.on('error', error => { result.error = error.message; });
  stream.on('close', () => {
    result.code = stream.rstCode;
    result.hash = hash.digest('hex');
    if (--left === 0) { console.log(JSON.stringify(results)); session.close(); }
  });
  if (upload) stream.end(Buffer.alloc(upload, 'u'));
});
"""


def node(proxy, wanted):
    run = subprocess.run(["node", "-e", NODE, proxy.url(""), json.dumps(wanted)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run
    return json.loads(run.stdout)


def test_node_sees_each_stream_end_as_planned(web, proxy):
    faults = ["status:503/9", "status:503/200000", "refused", "status:502:after/9", "reset"]
    rows = node(proxy, [["/large", 0]] + [[faulted("/small", fault), 0] for fault in faults])
    assert [(row["status"], row["size"], row["code"]) for row in rows] == [
        (200, LARGE, 0), (503, 9, 0), (503, 200_000, 0), (0, 0, 7), (502, 9, 0), (0, 0, 2)]


def test_large_bodies_in_both_directions_share_a_connection(web, proxy):
    """Downloads of 20 MB, one of them faulted after its effect; bodies of ours larger than a window; uploads
    that are kept from the server, or that reach it and fail afterwards (nginx refuses PUT by 405)."""
    large, ours, after = "/large", faulted("/small", "status:503/200000"), faulted("/large", "status:502:after/9")
    rows = node(proxy, [[large, 0], [after, 0], [ours, 0], [large, 0], [ours, 2_000_000], [ours, 0],
                        [after, 2_000_000], ["/small", 2_000_000], [ours, 3_000_000], ["/small", 0]])
    assert [(row["status"], row["size"]) for row in rows if row["status"] != 405] == [
        (200, LARGE), (502, 9), (503, 200_000), (200, LARGE), (503, 200_000), (503, 200_000), (502, 9),
        (503, 200_000), (200, 13)]
    digest = hashlib.sha256((web.root / "large").read_bytes()).hexdigest()
    assert [row["hash"] for row in rows if row["size"] == LARGE] == [digest] * 2
    assert rows[7]["status"] == 405


# --- gRPC ---------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def calls():
    port = free_port()
    process = subprocess.Popen([PYTHON, HERE / "grpc_server.py", str(port)])
    wait_until(lambda: accepts(port), "the gRPC server listens")
    yield port
    stop(process)


class Channel:
    def __init__(self, port):
        # Each attempt counts here: no retries but those that the library makes of its own accord.
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_retries", 0)])

    def unary(self, message, fault=None, timeout=20):
        """(code, details or answer)"""
        metadata = [("x-fault", str(NUMBER[fault]))] if fault else []
        try:
            return grpc.StatusCode.OK, self.channel.unary_unary("/t.T/Unary")(
                message, metadata=metadata, timeout=timeout)
        except grpc.RpcError as error:
            return error.code(), error.details()


def count(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        return int(channel.unary_unary("/t.T/Count")(b""))


@pytest.fixture
def channel(calls):
    made = Proxy(calls)
    client = Channel(made.port)
    yield client
    client.channel.close()
    assert made.end() == ["lost 0"]


def test_every_seventh_call_of_many_threads_fails_and_no_other(calls, channel):
    before = count(calls)

    def work(thread):
        results = []
        for n in range(thread * 300, thread * 300 + 300):
            results.append((n, channel.unary(b"%d" % n, "grpc:UNAVAILABLE" if n % 7 == 0 else None)))
        return results
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        results = [row for rows in threads.map(work, range(8)) for row in rows]
    failed = (grpc.StatusCode.UNAVAILABLE, "made here: grpc:UNAVAILABLE")
    assert results == [(n, failed if n % 7 == 0 else (grpc.StatusCode.OK, b"%d" % n)) for n in range(2400)]
    assert count(calls) - before == sum(1 for n in range(2400) if n % 7 != 0)


@pytest.mark.parametrize("fault, code, reaches", [
    ("grpc:UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, False),
    ("grpc:ABORTED:after", grpc.StatusCode.ABORTED, True),
    ("timeout", grpc.StatusCode.DEADLINE_EXCEEDED, False),
    ("timeout:after", grpc.StatusCode.DEADLINE_EXCEEDED, True),
    ("reset", grpc.StatusCode.UNAVAILABLE, False),
    ("reset:after", grpc.StatusCode.UNAVAILABLE, True),
    ("status:503/9", grpc.StatusCode.UNAVAILABLE, False)])
def test_a_call_fails_as_planned(calls, channel, fault, code, reaches):
    assert channel.unary(b"first") == (grpc.StatusCode.OK, b"first")
    before = count(calls)
    assert channel.unary(b"x", fault, timeout=0.5 if "timeout" in fault else 20)[0] == code
    assert count(calls) - before == (1 if reaches else 0)
    assert channel.unary(b"last") == (grpc.StatusCode.OK, b"last")


@pytest.mark.parametrize("fault, reaches", [("grpc:UNAVAILABLE", False), ("grpc:ABORTED:after", True)])
def test_streams_of_every_kind_fail_beside_one_that_goes_on(calls, channel, fault, reaches):
    code = grpc.StatusCode.ABORTED if reaches else grpc.StatusCode.UNAVAILABLE
    metadata = [("x-fault", str(NUMBER[fault]))]
    gate = threading.Semaphore(0)

    def messages():
        for n in range(100):
            gate.acquire()
            yield b"%d" % n
    going = channel.channel.stream_stream("/t.T/Both")(messages(), timeout=20)
    gate.release()
    assert next(going) == b"0"
    before = count(calls)
    with pytest.raises(grpc.RpcError) as error:
        list(channel.channel.unary_stream("/t.T/Down")(b"1000", metadata=metadata, timeout=20))
    assert error.value.code() == code
    with pytest.raises(grpc.RpcError) as error:
        channel.channel.stream_unary("/t.T/Up")(iter([b"m" * 1000] * 500), metadata=metadata, timeout=20)
    assert error.value.code() == code
    with pytest.raises(grpc.RpcError) as error:
        list(channel.channel.stream_stream("/t.T/Both")(iter([b"a", b"b"]), metadata=metadata, timeout=20))
    assert error.value.code() == code
    assert count(calls) - before == (3 if reaches else 0)
    for n in range(1, 100):
        gate.release()
        assert next(going) == b"%d" % n
    assert list(going) == []


def test_a_caller_that_still_waits_is_reset_at_the_limit_and_named(calls):
    proxy = Proxy(calls, hang_limit_ms=300)
    client = Channel(proxy.port)
    code, _ = client.unary(b"x", "timeout", timeout=None)
    assert code == grpc.StatusCode.CANCELLED
    client.channel.close()
    lines = proxy.end()
    assert lines[0] == "lost 0"
    assert any("caller still waited after 0.3 s for an answer" in line for line in lines), lines


def test_calls_that_are_open_when_the_session_ends_go_on_to_their_end(calls):
    proxy = Proxy(calls)
    client = Channel(proxy.port)
    gate = threading.Semaphore(0)

    def messages():
        for n in range(3):
            gate.acquire()
            yield b"%d" % n
    going = client.channel.stream_stream("/t.T/Both")(messages(), timeout=20)
    gate.release()
    assert next(going) == b"0"
    proxy.process.stdin.close()
    assert proxy.process.stdout.readline() == "lost 0\n"  # the session ends now
    gate.release()
    gate.release()
    assert list(going) == [b"1", b"2"]
    assert proxy.process.stdout.readline() == "ended\n"
    proxy.process.wait(10)
    client.channel.close()
