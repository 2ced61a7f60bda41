"""A recording has the bytes of real programs whole and in order, above their encryption, and says where each RPC is."""
import json
import re
import subprocess

import hpack
import hyperframe.frame
import pytest

from conftest import BUILD, PRELOAD, PYTHON, free_port
from small_apps import APPS

TORTURE = BUILD / "lib" / "libtorture.so"
IN_APPLICATION, THIRD_PARTY, REDIS = 1, 2, 16
HTTP1, HTTP2, OF_REDIS = 1, 2, 3
FROM_ITS_FIRST_BYTE = 0
FIELD = re.compile(rb"x-filibuster: [0-9a-f-]+\r\n")


def record(command, *targets, library=PRELOAD, places=False):
    words = [word for name, port, flags in targets for word in ("--service", name, str(port), str(flags))]
    result = subprocess.run([BUILD / "tests" / "tape_probe", *words, "--record", "places" if places else "bytes", str(library), command],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["status"], found["lost"], found["lost_events"]) == (0, 0, 0), (result.stderr, found["notes"])
    assert found["quiescent"]
    for one in found["connections"]:
        for direction in ("requests", "answers"):
            one[direction] = bytes.fromhex(one.get(direction, ""))
        assert "holes" not in one and one.get("said", 1) == 1
    return found


def with_server(serve, call, name="movies"):
    """The server under that name, and then the client as `users`."""
    return f"FILIBUSTER_SERVICE={name} {serve} & S=$!; FILIBUSTER_SERVICE=users {call}; R=$?; kill $S; wait $S; exit $R"


def of(found, service):
    return [one for one in found["connections"] if one["service"] == service and one.get("protocol")]


def app(*words):
    return " ".join([PYTHON, str(APPS / "taped.py"), *map(str, words)])


def http_record(tmp_path, kind, client="plain", folder="", **options):
    port, out = free_port(), tmp_path / "client.json"
    found = record(with_server(app("serve", kind, port, folder), app("call", client, port, out, folder)),
                   ("movies", port, IN_APPLICATION), **options)
    return found, [{key: text.encode("latin-1") for key, text in one.items()} for one in json.loads(out.read_text())]


def check_http(found, known):
    """Each connection of the client, and the server's end of it: all bytes, and each RPC at both ends."""
    clients, servers = of(found, "users"), of(found, "movies")
    issued = {rpc["rpc"]: rpc for rpc in found["rpcs"]}
    assert len(clients) == len(known)
    for one in known:
        client = next(c for c in clients if c["requests"] == one["sent"])
        assert client["answers"] == one["received"]
        server = next(s for s in servers if FIELD.sub(b"", s["requests"]) == one["sent"])
        assert len(FIELD.findall(server["requests"])) == 2, "the field is among what a server receives"
        assert client["local"] == server["peer"] and client["peer"] == server["local"]
        for end in (client, server):
            assert (end["protocol"], end["seen_from"]) == (HTTP1, FROM_ITS_FIRST_BYTE)
            assert [place["number"] for place in end["places"]] == [1, 2]
            assert end["server"] == (end is server) and all(place["incoming"] == (end is server) for place in end["places"])
        assert [place["rpc"] for place in client["places"]] == [place["rpc"] for place in server["places"]]
        assert [issued[place["rpc"]]["method"] for place in client["places"]] == ["GET", "POST"]
        yield client, server


@pytest.mark.parametrize("kind, library", [("threads", PRELOAD), ("threads", f"{PRELOAD}:{TORTURE}"), ("fork", PRELOAD)])
def test_requests_and_answers_of_http1_are_whole(tmp_path, kind, library):
    found, known = http_record(tmp_path, kind, library=library)
    for one, (client, server) in zip(known, check_http(found, known)):
        assert server["answers"] == one["received"]
        assert {end["by_peer"] for end in server["closed"]} >= {True}
        assert {end["by_peer"] for end in client["closed"]} == {False}
    if kind == "fork":
        assert len({one["pid"] for one in of(found, "movies")}) == len(known), "each child has a tape of its own"


def test_http_over_tls_is_recorded_in_the_clear(tmp_path, tls):
    found, known = http_record(tmp_path, "tls", "tls", tls)
    for one, (_, server) in zip(known, check_http(found, known)):
        assert server["answers"] == one["received"]


def test_what_sendfile_sends_is_a_gap(tmp_path):
    found, known = http_record(tmp_path, "sendfile", folder=tmp_path)
    for one, (_, server) in zip(known, check_http(found, known)):
        assert sum(gap["size"] for gap in server["gaps"]) == 50_000
        assert all(not gap["requests"] and gap["size"] for gap in server["gaps"])
        head, _, rest = one["received"].partition(b"0123456789" * 5000)
        assert server["answers"] == head + rest


def test_commands_and_replies_of_redis_are_whole(tmp_path):
    port, out = free_port(), tmp_path / "client.json"
    found = record(with_server(f"redis-server --port {port} --save '' --dir {tmp_path} >/dev/null", app("call", "redis", port, out),
                               "cache"), ("cache", port, REDIS | THIRD_PARTY))
    clients = of(found, "users")
    methods = {rpc["rpc"]: rpc["method"] for rpc in found["rpcs"]}
    known = json.loads(out.read_text())
    assert [(one["requests"].decode(), one["answers"].decode()) for one in clients] == [(one["sent"], one["received"]) for one in known]
    for one in clients:
        assert (one["protocol"], one["seen_from"], one["target"]) == (OF_REDIS, FROM_ITS_FIRST_BYTE, "cache")
        # A transaction is one call, and begins with its MULTI.
        assert [(methods[place["rpc"]], place["number"]) for place in one["places"]] == [("SET", 1), ("GET", 2), ("MULTI", 3)]
    assert not of(found, "cache"), "its server is not followed"


def frames(data):
    at = 0
    while at < len(data):
        frame, size = hyperframe.frame.Frame.parse_frame_header(memoryview(data)[at:at + 9])
        frame.parse_body(memoryview(data)[at + 9:at + 9 + size])
        at += 9 + size
        yield frame


def messages(data):
    """Of each stream: its fields and its body."""
    decoder, found = hpack.Decoder(), {}
    for frame in frames(data):
        if isinstance(frame, hyperframe.frame.HeadersFrame):
            found.setdefault(frame.stream_id, [{}, b""])[0].update(decoder.decode(frame.data))
        elif isinstance(frame, hyperframe.frame.DataFrame):
            found[frame.stream_id][1] += bytes(frame.data)
    return found


def test_streams_of_http2_are_whole(tmp_path):
    port, preface = free_port(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    files = {"one": b"1" * 100, "two": b"2" * 70_000}
    for name, body in files.items():
        (tmp_path / name).write_bytes(body)
    (tmp_path / "body").write_bytes(b"sent" * 9000)
    urls = " ".join(f"http://127.0.0.1:{port}/{name}" for name in files)
    wait = f"until curl -s --http2-prior-knowledge -o /dev/null http://127.0.0.1:{port}/one; do :; done"
    # The client may have the whole answer before the server's write has returned. A server that answers once more has gone on.
    call = f"sh -c '{wait}; nghttp --no-dep -d {tmp_path}/body -H \":method: POST\" {urls} >/dev/null; {wait}'"
    found = record(with_server(f"nghttpd --no-tls -d {tmp_path} {port}", call), ("movies", port, IN_APPLICATION))
    issued = {rpc["rpc"]: rpc for rpc in found["rpcs"]}
    clients = [one for one in of(found, "users") if len(one["places"]) == 2]
    servers = [one for one in of(found, "movies") if len(one["places"]) == 2]
    assert len(clients) == len(servers) == 1
    for one in (clients[0], servers[0]):
        assert (one["protocol"], one["seen_from"]) == (HTTP2, FROM_ITS_FIRST_BYTE)
        assert one["requests"].startswith(preface)
        requests, answers = messages(one["requests"][len(preface):]), messages(one["answers"])
        for place in one["places"]:
            fields, body = requests[place["number"]]
            name = issued[place["rpc"]]["target"].strip("/")
            assert fields[":path"] == "/" + name and body == b"sent" * 9000
            assert ("x-filibuster" in fields) == (one is servers[0])
            assert answers[place["number"]][0][":status"] == "200" and answers[place["number"]][1] == files[name]
    assert [place["rpc"] for place in clients[0]["places"]] == [place["rpc"] for place in servers[0]["places"]]


def test_places_alone_take_no_bytes(tmp_path):
    found, known = http_record(tmp_path, "threads", places=True)
    ends = of(found, "users") + of(found, "movies")
    assert len(ends) == 2 * len(known)
    for one in ends:
        assert one["requests"] == one["answers"] == b"" and one["local_port"] != 0
        assert [place["number"] for place in one["places"]] == [1, 2]
