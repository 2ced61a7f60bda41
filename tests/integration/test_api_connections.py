"""Who connects to the API without the token, and how many: nobody who has it waits for them."""
import json
import os
import selectors
import socket
import subprocess

import pytest

from conftest import FILIBUSTER, PROGRAMS, PYTHON, wait_until
from small_apps import held, pair

NOBODY = 65534


def address(project):
    daemon = project.daemon()
    return int(daemon["url"].rsplit(":", 1)[1]), daemon["token"]


def request(path, token=None):
    field = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}\r\n".encode()


def answer(connection):
    """The first answer on a connection, as (status, body); None: it was closed without one."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = connection.recv(65536)
        if not part:
            return None
        text += part
    head, body = text.split(b"\r\n\r\n", 1)
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields.get(b"content-length", 0)):
        body += connection.recv(65536)
    return int(head.split()[1]), body


def ask(port, path, token=None):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request(path, token))
        return answer(connection)


def running_session(project):
    """The session's number; None: no session runs."""
    port, token = address(project)
    return json.loads(ask(port, "/v1/status", token)[1])["session"]


@pytest.fixture
def session(project):
    """A session whose test waits for as long as there is a file `hold`."""
    made = pair(faults=[{"inject": "503"}])
    made["tests"] = [held(made["tests"][0], 0)]
    project.write("filibuster.json", made)
    hold = project.write("hold", "")
    process = project.start("run", "--json")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    wait_until(lambda: running_session(project), "the session runs")  # the daemon serves before that
    yield project
    hold.unlink()
    process.communicate(timeout=60)
    assert process.returncode == 0


def shown(run):
    return run.exit_code, run.test["counts"], sorted(case["state"] for case in run.test["cases"]), run.test["findings"]


def test_a_crowd_of_slow_connections_changes_nothing(project):
    """1,000 of them, while a test asks in each execution and the command follows."""
    made = pair(options="--tolerate 9", faults=[{"inject": ["503", "500", "refused"]}])
    asks = f"{FILIBUSTER} was-fault-injected --service back; [ $? -le 1 ] || exit 9; "
    made["tests"][0]["command"] = asks + made["tests"][0]["command"]
    project.write("filibuster.json", made)
    alone = project.filibuster("run")
    assert alone.exit_code == 0 and alone.executed == 4, alone

    made["tests"][0]["command"] = "while [ -e hold ]; do sleep 0.01; done; " + made["tests"][0]["command"]
    project.write("filibuster.json", made)
    hold = project.write("hold", "")
    process = project.start("run", "--restart-session")
    wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
    crowd = subprocess.Popen([PROGRAMS / "slow_crowd", str(address(project)[0]), "1000"], stdout=subprocess.PIPE, text=True)
    try:
        assert crowd.stdout.readline() == "connected\n"
        hold.unlink()
        output, errors = process.communicate(timeout=280)
    finally:
        crowd.kill()
        crowd.communicate()
    assert process.returncode == 0, (output, errors)
    report = json.loads((project.root / "report.json").read_text())["tests"][0]
    assert (process.returncode, report["counts"], sorted(case["state"] for case in report["cases"]), report["findings"]) == shown(alone)


WAITING, QUESTIONS = 200, 40


def test_those_who_wait_for_news_and_those_who_keep_connections_hold_up_no_question(session):
    port, token = address(session)
    news = request(f"/v1/sessions/{running_session(session)}/page?after=1000000", token)
    selector = selectors.DefaultSelector()
    waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(WAITING)]
    for connection in waiting:
        connection.sendall(news)
        selector.register(connection, selectors.EVENT_READ)
    kept = []
    told = 0  # that there is no news, which takes the daemon a second
    for _ in range(QUESTIONS):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(request("/v1/status", token))
        assert answer(connection)[0] == 200
        kept.append(connection)
        for key, _ in selector.select(timeout=0):
            assert answer(key.fileobj)[0] == 204
            key.fileobj.sendall(news)
            told += 1
        # With one set of threads for all, each question would have waited until most of those who wait were told.
        assert told < QUESTIONS * WAITING / 4
    for connection in waiting + kept:
        connection.close()


def test_requests_come_in_pieces_and_one_after_the_other(session):
    port, token = address(session)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for byte in request("/v1/status", token):
            connection.sendall(bytes([byte]))
        assert answer(connection)[0] == 200
        # Two in one packet, on the same connection.
        connection.sendall(request("/v1/trace", token) + request("/v1/status", token))
        text = b""
        while text.count(b"HTTP/1.1 200") < 2:
            part = connection.recv(65536)
            assert part, text
            text += part
    assert ask(port, "/v1/status")[0] == 401
    assert ask(port, "/v1/status", token[:-1] + ("0" if token[-1] != "0" else "1"))[0] == 401
    with socket.create_connection(("127.0.0.1", port)) as connection:
        # A refused request whose body was never read: the answer arrives all the same, and then the end.
        connection.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000)
        assert answer(connection)[0] == 401
        assert connection.recv(1) == b""


def test_a_head_without_an_end_is_closed(session):
    port, token = address(session)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        try:
            connection.sendall(request("/v1/status", token)[:-2] + b"X-Long: " + b"x" * 200_000)
            assert connection.recv(1) == b""
        except ConnectionError:
            pass
    assert ask(port, "/v1/status", token)[0] == 200


# Asks with the right token; prints the status, or `closed`.
OTHER_USER = r'''
import socket, sys
family = socket.AF_INET6 if sys.argv[2].startswith("::") else socket.AF_INET
try:
    with socket.socket(family) as connection:
        connection.connect((sys.argv[2], int(sys.argv[1])))
        if len(sys.argv) > 4:
            connection.recv(1)  # sends nothing
            print("closed")
            sys.exit()
        connection.sendall(f"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {sys.argv[3]}\r\n\r\n".encode())
        text = connection.recv(100).decode()
        print(text.split()[1] if text else "closed")
except ConnectionError:
    print("closed")
'''


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED, connections of another user: only root can become one")
@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_a_connection_of_another_user_is_closed_at_accept(session, host):
    port, token = address(session)

    def asked(*silent, **user):
        return subprocess.run([PYTHON, "-c", OTHER_USER, str(port), host, token, *silent], cwd="/", text=True,
                              stdout=subprocess.PIPE, timeout=60, **user).stdout.strip()
    assert asked() == "200"
    assert asked(user=NOBODY, group=NOBODY, extra_groups=[]) == "closed"
    assert asked("silent", user=NOBODY, group=NOBODY, extra_groups=[]) == "closed"
    assert "sock_diag" not in (session.root / "daemon.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED, a test of another user: only root can start one")
def test_a_test_that_has_changed_its_user_may_ask(open_project):
    project = open_project
    made = pair(faults=[{"inject": "503"}])
    client = project.write("ask.py", "import os, urllib.request as u\n"
                           "q = u.Request(os.environ['FILIBUSTER_URL'] + '/v1/fault-injected',\n"
                           "              headers={'Authorization': 'Bearer ' + os.environ['FILIBUSTER_TOKEN']})\n"
                           "assert u.urlopen(q).status == 200 and os.geteuid() == 65534\n")
    asks = f"setpriv --reuid={NOBODY} --clear-groups {PYTHON} {client} || exit 9; "
    made["tests"][0]["command"] = asks + made["tests"][0]["command"]
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
