"""What a page in a browser, or a name that was bound again to 127.0.0.1, can send to the API: it is refused, with the token too."""
import http.client
import json
import urllib.parse

import pytest

from conftest import wait_until
from small_apps import pair


@pytest.fixture
def api(project):
    project.start("daemon")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    address = project.daemon()
    port = urllib.parse.urlsplit(address["url"]).port

    def ask(method, path, body=b"", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value.replace("PORT", str(port)))
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer, text

    ask.token = "Bearer " + address["token"]
    return ask


GOOD = [{"Host": "127.0.0.1:PORT"}, {"Host": "localhost:PORT"}, {"Host": "LocalHost"}, {"Host": "[::1]:8000"},
        {"Host": "127.0.0.1:PORT", "Origin": "http://127.0.0.1:PORT"}, {"Host": "localhost:PORT", "Origin": "http://localhost:PORT"}]
BAD = [{"Host": "evil.example"}, {"Host": "evil.example:PORT"}, {"Host": "127.0.0.1.evil.example:PORT"}, {"Host": "localhost.evil.example"},
       {"Host": "evil.example@127.0.0.1"}, {"Host": "127.0.0.1:PORT:PORT"}, {"Host": "127.0.0.1:evil"}, {"Host": "localhost:99999"}, {"Host": "localhost:65536"},
       {"Host": "127.0.0.1:0"}, {"Host": "127.0.0.1:"}, {"Host": "127.0.0.1:-1"}, {"Host": "192.168.1.1"}, {"Host": ""},
       {"Host": "[::1"}, {"Host": "127.0.0.1 evil"}, {"Host": None},
       {"Host": "127.0.0.1:PORT", "Origin": "http://evil.example"}, {"Host": "127.0.0.1:PORT", "Origin": "null"},
       {"Host": "127.0.0.1:PORT", "Origin": "http://127.0.0.1:1"},
       {"Host": "127.0.0.1:PORT", "Origin": "http://127.0.0.1:PORT.evil.example"}, {"Host": "127.0.0.1:PORT", "Origin": "https://127.0.0.1:PORT"},
       {"Host": "127.0.0.1:PORT", "Sec_Fetch_Site": "cross-site"}, {"Host": "127.0.0.1:PORT", "Sec_Fetch_Site": "same-site"}]
REQUESTS = [("GET", "/v1/status"), ("GET", "/v1/trace"), ("GET", "/v1/fault-injected"), ("POST", "/v1/sessions"), ("POST", "/v1/shutdown"),
            ("OPTIONS", "/v1/sessions"), ("DELETE", "/v1/status"), ("GET", "/../../etc/passwd"), ("GET", "/%2e%2e/daemon.json")]


def test_a_request_from_elsewhere_is_refused_and_one_without_the_token(api):
    for headers in GOOD:
        answer, _ = api("GET", "/v1/status", Authorization=api.token, **headers)
        assert answer.status == 200, headers
        answer, _ = api("GET", "/v1/status", **headers)
        assert answer.status == 401, headers
    for headers in BAD:
        for method, path in REQUESTS:
            answer, text = api(method, path, Authorization=api.token, **headers)
            assert answer.status in (400, 403), (method, path, headers, answer.status, text)
            assert "access-control" not in str(answer.headers).lower()
            assert api.token[7:].encode() not in text
    # It is there, and did none of it.
    answer, text = api("GET", "/v1/status", Host="127.0.0.1:PORT", Authorization=api.token)
    assert answer.status == 200 and json.loads(text) == {"version": 1, "session": None}


def test_a_form_cannot_start_a_session(api, project):
    """What a browser sends without asking first (no preflight): the token is no part of it."""
    body = json.dumps({"mode": "run", "config_text": json.dumps(pair()), "directory": str(project.directory)}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        for headers in ({}, {"Origin": "http://evil.example"}, {"Cookie": api.token}):
            answer, _ = api("POST", "/v1/sessions?token=" + api.token[7:], body, Host="127.0.0.1:PORT", Content_Type=kind, **headers)
            assert answer.status in (401, 403), (kind, headers, answer.status)
    for method in ("OPTIONS", "GET"):
        answer, _ = api(method, "/v1/sessions", Host="127.0.0.1:PORT", Access_Control_Request_Method="POST",
                        Access_Control_Request_Headers="authorization")
        assert answer.status == 401 and not any(name.lower().startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"5", b"{", b'"x"', b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe{}", b'{"mode": 5}',
                                  b'{"mode": "run", "tests": "x"}', b'{"mode": "replay", "counterexample": []}',
                                  b'{"mode": "run", "config_text": 5}', b'{"mode": "run", "overrides": [1]}',
                                  b'{"mode": "run", "client_pid": 1e300}'],
                         ids=lambda body: body[:30].decode(errors="replace"))
def test_a_body_that_is_none_is_refused_and_the_daemon_lives(api, body):
    answer, text = api("POST", "/v1/sessions", body, Host="127.0.0.1:PORT", Authorization=api.token)
    assert answer.status == 400 and json.loads(text)["errors"], text
    answer, _ = api("GET", "/v1/status", Host="127.0.0.1:PORT", Authorization=api.token)
    assert answer.status == 200
