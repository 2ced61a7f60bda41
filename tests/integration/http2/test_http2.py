"""HTTP/2 of programs that are not gRPC: curl, nghttp, h2load, nghttpd and nginx; the bytes under short reads and
writes; what a runtime's helper adds for the library only."""
import os
import re

import pytest

import pairs
from calls import KINDS, client, failures, fault_where, server, value_of
from conftest import BUILD, PYTHON, REPOSITORY
from rpc_tree import chains, observe, observe_and_compare
from small_apps import config, printed, printing, relay, url

TORTURE = BUILD / "lib" / "libtorture.so"


def web(directory, name="web", under="", **members):
    """nghttpd, which prints every frame, and sends back what is uploaded."""
    folder = directory / "htdocs"
    folder.mkdir(exist_ok=True)
    (folder / "hello").write_text("hello\n")
    return {"name": name, "command": f"{under} exec nghttpd -v -a 127.0.0.1 --echo-upload --no-tls -d {folder} ${{port:{name}}}".strip(), **members}


def curl(*words, path="/hello", name="web"):
    return f"curl -sSf -m 20 --http2-prior-knowledge {' '.join(words)} {url(name, path)}"


def log_of(project, name="web"):
    return (project.root / "logs" / f"{name}-0.log").read_text(errors="replace")


def fields_received(project, name="web"):
    """The values of our field that each stream of each connection carried."""
    streams = {}
    for connection, stream, value in re.findall(
            r"\[id=(\d+)\].*recv \(stream_id=(\d+)\) x-filibuster: (\S+)", log_of(project, name)):
        streams.setdefault((connection, stream), []).append(value)
    return list(streams.values())


def test_plain_clients_are_followed_request_by_request(project):
    run = observe_and_compare(project, [web(project.directory)], f"{curl()}; {curl('-d', 'a=b')}; "
                              f"nghttp {url('web', '/hello')} {url('web', '/none')} | head -n 1")
    (index_of_first, *_) = [rpc["index"] for rpc in run.test["reference"]]
    assert chains(run) == sorted(["test>web GET /hello 200", "test>web POST /hello 200", "test>web GET /hello 200",
                                  "test>web GET /none 404"])
    assert [len(values) for values in fields_received(project)] == [1, 1, 1, 1]
    assert fields_received(project)[0][0].endswith(index_of_first)


def test_many_streams_in_one_write_are_told_apart(project):
    run = observe(project, [web(project.directory)],
                  f"h2load -n 300 -c 1 -m 100 {url('web', '/hello')} | grep -q '300 2xx'")
    rpcs = run.test["reference"]
    assert [rpc["count"] for rpc in rpcs] == list(range(1, 301))
    assert sorted(values[0][-32:] for values in fields_received(project)) == sorted(rpc["index"] for rpc in rpcs)


NGINX = """
daemon off; %(user)s pid %(directory)s/nginx.pid; error_log stderr; worker_processes 1;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %(directory)s; proxy_temp_path %(directory)s; fastcgi_temp_path %(directory)s;
  uwsgi_temp_path %(directory)s; scgi_temp_path %(directory)s; sendfile on;
  server {
    listen 127.0.0.1:FRONT http2;
    location /calls. { grpc_pass grpc://127.0.0.1:CALLS; }
    location / { root %(directory)s/htdocs; }
  }
}
"""


def nginx(project):
    # Workers of another user could not reach the session.
    user = "user root;" if os.geteuid() == 0 else ""
    project.write("nginx.conf", NGINX % {"directory": project.directory, "user": user})
    command = ("sed -e s/FRONT/${port:front}/ -e s/CALLS/${port:calls}/ nginx.conf > used.conf && "
               "exec nginx -p . -c $PWD/used.conf")
    return {"name": "front", "command": command}


def test_nginx_serves_http2_and_passes_grpc_on(project):
    (project.directory / "htdocs").mkdir()
    (project.directory / "htdocs" / "large").write_text("0123456789" * 50_000)  # by sendfile
    run = observe_and_compare(project, [server(), nginx(project)],
                              f"{curl(path='/large', name='front')} | md5sum; {client('kinds', to='front')}")
    double = "test>front POST /calls.Calls/Double 200"
    tree = chains(run)
    assert "test>front GET /large 200" in tree
    # nginx sends the field on that it was sent: that names the cause.
    assert tree.count(double + " / front>calls POST /calls.Calls/Double 200") == 2
    assert {rpc["cause"] for rpc in run.test["reference"] if rpc["caller"] == "front"} == {"header"}
    assert len(tree) == 1 + 2 * 5
    assert (project.directory / "printed").read_text().endswith(KINDS)


@pytest.mark.parametrize("fault, code", [("grpc:RESOURCE_EXHAUSTED", 8), ("stream-reset", 14), ("status:503", 14), ("partial-message", 13)])
def test_faults_between_nginx_and_its_grpc_server_reach_the_client(project, fault, code):
    project.write("filibuster.json", config(
        [server(), nginx(project)], [{"name": "client", "command": printing(client("kinds", to="front") + " 2> /dev/null")}], default_faults=False, index={"stack": False},
        bounds={"reference_executions": 1, "max_faults": 1},
        faults=[{"on": {"caller": "front", "grpc": "calls.Calls/Count"}, "inject": fault}]))
    run = project.filibuster("run")
    assert run.executed == 2 and "plan not met" not in run.output, run
    usual, faulted = printed(run)
    assert usual == KINDS
    changed = [line for line in faulted.splitlines() if line not in KINDS.splitlines()]
    # nginx makes 502 of an answer that breaks off before its head, and ends one after it.
    assert [line.split()[:2] for line in changed] == [["count", str(code)]], faulted


# --- bytes ----------------------------------------------------------------------------------------------

def tortured(command, seed):
    return f'export LD_PRELOAD="$LD_PRELOAD:{TORTURE}" TORTURE_SEED={seed}; {command}'


# Each seed cuts at other places, and one of them shows whether cuts are borne.
@pairs.only("seed", [3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_byte_is_as_it_was_under_short_reads_and_writes(project, seed):
    """On both sides; curl is left out: it takes an EAGAIN in its preface for an error."""
    upload = project.write("upload", "".join(f"{n:07}\n" for n in range(40_000)))
    under = f"LD_PRELOAD=$LD_PRELOAD:{TORTURE} TORTURE_SEED={seed}"
    calls = server()
    calls["command"] = f"{under} {calls['command']}"
    run = observe(project, [web(project.directory, under=under), calls], tortured(
        f"exec > printed; nghttp -d {upload} {url('web', '/echo')} | cmp - {upload} || exit 1; "
        f"h2load -n 200 -c 3 -m 50 {url('web', '/hello')} | grep -q '200 2xx' || exit 1; "
        f"{client('kinds')}; {client('threads', 4, 50, 3000)}", seed), index={"stack": False})
    assert (project.directory / "printed").read_text() == KINDS + "good 200 wrong 0 failed 0\n"
    assert len(run.test["reference"]) == 1 + 200 + 5 + 200
    assert all(len(values) == 1 for values in fields_received(project))


# One seed stays, as above.
@pairs.only("seed", [1])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_chosen_calls_fail_and_no_others_under_short_reads_and_writes(project, seed):
    _, run, printed = fault_where(
        project, [server()], tortured(client("threads", 4, 100, 3000), seed), lambda rpc: value_of(rpc) % 7 == 0,
        "grpc:UNAVAILABLE", index={"stack": False})
    assert run.exit_code == 1, run
    assert failures(printed) == {value: 14 for value in range(7, 401, 7)}
    assert "wrong 0" in printed


# --- a runtime's helper -----------------------------------------------------------------------------------

# By nothing that came in, from a call site that is not known.
HELPER = "1-00000000-0000-00000000-0000000000000000-" + 32 * "0" + "-" + 16 * "0" + "-" + 8 * "0"


def test_what_a_helper_says_stays_within_the_application(project):
    headers = f"-H 'x-filibuster: {HELPER}'"
    run = observe(project, [web(project.directory), web(project.directory, "third", third_party=True)],
                  "; ".join(f"nghttp {headers} {url(name, '/hello')} {url(name, '/none')}" for name in ("web", "third")),
                  complete=False)
    assert [rpc["cause"] for rpc in run.test["reference"]] == ["entry"] * 4
    # The application's: ours is the last one. A third party's: none of them.
    assert [(len(values), values[0] == HELPER, values[-1] == HELPER) for values in fields_received(project)] == \
        [(2, True, False)] * 2
    assert fields_received(project, "third") == []
    assert log_of(project, "third").count("recv (stream_id") > 10


# --- Upgrade: h2c -----------------------------------------------------------------------------------------

def upgrading():
    script = REPOSITORY / "tests" / "programs" / "http2" / "upgrade_server.py"
    return {"name": "web", "command": f"exec {PYTHON} {script} ${{port:web}}"}


def test_a_connection_that_is_upgraded_is_followed_on(project):
    run = observe(project, [upgrading()],
                  f"{{ curl -sSf -m 20 --http2 {url('web', '/a')}; nghttp -u {url('web', '/b')} {url('web', '/c')}; }} > printed")
    assert chains(run) == [f"test>web GET {path} 200" for path in ("/a", "/b", "/c")]
    # Each was received with its one field: of HTTP/1 the first of a connection, of HTTP/2 what follows.
    lines = (project.directory / "printed").read_text().split()
    index_of = {rpc["path"]: rpc["index"] for rpc in run.test["reference"]}
    assert sorted(lines[::2]) == ["/a", "/b", "/c"]
    assert all(value.endswith(index_of[path]) for path, value in zip(lines[::2], lines[1::2], strict=True))


def test_an_upgrade_that_is_declined_is_http1(project):
    run = observe(project, [relay("back")], f"curl -sSf -m 20 --http2 {url('back', '/a')} {url('back', '/b')}")
    assert chains(run) == ["test>back GET /a 200", "test>back GET /b 200"]


def test_faults_meet_the_streams_of_an_upgraded_connection(project):
    command = printing(f"nghttp -u {url('web', '/a')} {url('web', '/b')} | grep -v 1-")
    project.write("filibuster.json", config(
        [upgrading()], [{"name": "client", "command": command}],
        bounds={"reference_executions": 1}, default_faults=False,
        faults=[{"on": {"path": "/b", "caller": "test"}, "inject": {"status": 418, "body": "teapot\n"}}]))
    run = project.filibuster("run")
    assert run.executed == 2 and "plan not met" not in run.output, run
    assert [text.split() for text in printed(run)] == [["/a", "/b"], ["/a", "teapot"]]
