"""The matrix: server × client × requests in flight. Wrongly attributed: never. Rightly: all but one in a hundred.

Of each server a few of its clients, and each client and each number with some server. `make test` has those of them that no other
test has: how the clients of Node and of Java are told apart is in test_node.py and test_jvm.py. The whole (`make test-all`) prints its
table.
"""
import itertools

import pytest

import matrix
import pairs
from conftest import Project

BLOCKING = ["http.client", "requests", "urllib3", "thread", "pool"]
ASYNCHRONOUS = ["streams", "aiohttp", "httpx", "gather", "to_thread", "executor"]
GUNICORN = {"gunicorn-sync": "-w 3", "gunicorn-gthread": "-k gthread --threads 24", "gunicorn-gevent": "-k gevent"}
SERVERS = {
    "werkzeug": BLOCKING, "gunicorn-gthread": BLOCKING, "gunicorn-sync": BLOCKING,
    "gunicorn-gevent": [*BLOCKING, "gevent"],
    "streams": ASYNCHRONOUS, "aiohttp": ASYNCHRONOUS, "uvicorn": ASYNCHRONOUS,
    "fastapi": ASYNCHRONOUS[:3] + BLOCKING[:3],
}
# C++: sync, async (completion queue). Python: grpc (threads), grpc.aio.
GRPC = {"sync": ["blocking", "queue"], "async": ["blocking", "queue", "chained"],
        "grpc": ["blocking", "future", "stream", "http"], "grpc.aio": ["aio", "aio-stream", "aio-gather"]}
OTHERS = {"node": ["request", "agent", "fetch"], "java": ["url", "send", "async"]}
RUBY = {"ruby-threads": ["net-http", "thread", "start", "fiber"], "ruby-async": ["net-http", "tasks", "thread"],
        "puma": ["net-http", "thread", "start", "fiber"]}
WHOLE = [(server, client, number) for server, clients in {**SERVERS, **GRPC, **OTHERS, **RUBY}.items() for client in clients
         for number in ((1, 2) if server == "gunicorn-sync" else (1, 2, 8))]
PAIRWISE = [("werkzeug", "requests", 8), ("werkzeug", "pool", 2), ("gunicorn-gthread", "http.client", 8),
            ("gunicorn-gthread", "thread", 1), ("gunicorn-gevent", "requests", 8), ("gunicorn-gevent", "thread", 8),
            ("gunicorn-gevent", "gevent", 8), ("gunicorn-gevent", "pool", 2), ("gunicorn-sync", "urllib3", 2),
            ("streams", "streams", 8), ("streams", "gather", 2), ("aiohttp", "aiohttp", 8), ("aiohttp", "to_thread", 1),
            ("uvicorn", "httpx", 8), ("uvicorn", "executor", 2), ("fastapi", "requests", 8),
            ("sync", "blocking", 8), ("sync", "queue", 2), ("async", "blocking", 1), ("async", "queue", 2),
            ("async", "chained", 8), ("grpc", "blocking", 8), ("grpc", "future", 2), ("grpc", "stream", 1),
            ("grpc", "http", 8), ("node", "request", 8), ("node", "agent", 2), ("node", "fetch", 8), ("java", "url", 8),
            ("java", "send", 8), ("java", "async", 2), ("grpc.aio", "aio", 8), ("grpc.aio", "aio-stream", 2), ("grpc.aio", "aio-gather", 1),
            ("ruby-threads", "net-http", 8), ("ruby-threads", "thread", 8), ("ruby-threads", "start", 2), ("ruby-async", "net-http", 8),
            ("ruby-async", "tasks", 8), ("puma", "net-http", 8), ("puma", "thread", 2), ("puma", "fiber", 8)]

# What stays in `make test`: each server with the client that is the hardest for it, and each way of carrying a request on.
STAY = [("werkzeug", "requests", 8), ("gunicorn-gthread", "thread", 1), ("gunicorn-gevent", "gevent", 8), ("gunicorn-gevent", "pool", 2),
        ("gunicorn-sync", "urllib3", 2), ("streams", "gather", 2), ("aiohttp", "to_thread", 1), ("uvicorn", "httpx", 8),
        ("uvicorn", "executor", 2), ("fastapi", "requests", 8), ("sync", "queue", 2), ("async", "chained", 8), ("grpc", "future", 2),
        ("grpc", "stream", 1), ("grpc", "http", 8), ("grpc.aio", "aio-stream", 2), ("grpc.aio", "aio-gather", 1), ("node", "fetch", 8),
        ("java", "async", 2), ("ruby-threads", "start", 2), ("ruby-async", "tasks", 8), ("puma", "fiber", 8)]


def rounds(number):
    """Where requests overlap, 64 of them."""
    return 8 if number == 8 else 2


def measure(project, server, client, number):
    if server in GRPC or server == "callback":
        return matrix.run_grpc(project, server, client, number, rounds(number))
    if server in OTHERS:
        command = matrix.node_server(client) if server == "node" else matrix.java_server(client)
        return matrix.run(project, command, number, rounds(number))
    if server in RUBY:
        return matrix.run(project, matrix.ruby_server(server, client), number, rounds(number))
    if server in GUNICORN:
        command, env = matrix.gunicorn_server(client, GUNICORN[server])
        return matrix.run(project, command, number, rounds(number), env=env)
    return matrix.run(project, matrix.python_server(server, client), number, rounds(number))


def check(shares, number, server):
    # The sync worker serves one request at a time: its call of itself is served by another worker.
    assert shares.wrong == [], shares.wrong
    assert shares.total == number * rounds(number) * 4, "every request made its calls"
    assert len(shares.right) >= 0.99 * shares.total, shares.none
    assert shares.background > 0, "and the background caller was at work"


@pairs.only("server, client, number", STAY)
@pytest.mark.parametrize("server, client, number", PAIRWISE)
def test_rpcs_are_attributed_to_the_request_that_causes_them(project, server, client, number):
    shares = measure(project, server, client, number)
    print(f"{server:17} {client:12} {number} {shares.row()}")
    check(shares, number, server)


# A thread of gRPC's own and uvloop; the workers of Ruby are compiled code, as uvloop is.
@pairs.only("server, client, number", [("callback", "blocking", 8), ("uvloop", "streams", 8)])
@pytest.mark.parametrize("server, client", [("callback", "blocking"), ("uvloop", "aiohttp"), ("uvloop", "httpx"), ("uvloop", "streams"),
                                            ("ruby-threads", "workers")])
@pytest.mark.parametrize("number", [1, 8])
def test_what_nothing_tells_is_not_guessed(project, server, client, number):
    """Which request a callback server of gRPC works for, on a thread of its own; which task made uvloop write."""
    shares = measure(project, server, client, number)
    print(f"{server:17} {client:12} {number} {shares.row()}")
    assert shares.wrong == [] and shares.total == number * rounds(number) * 4, shares


@pytest.mark.whole
def test_the_whole_matrix(tmp_path, capsys):
    rows, failures = [], []
    for server, client, number in WHOLE:
        folder = tmp_path / f"{server}-{client}-{number}"
        folder.mkdir()
        project = Project(folder)
        try:
            shares = measure(project, server, client, number)
        finally:
            project.end()
        rows.append(f"{server:17} {client:12} {number:2} {shares.row()}")
        try:
            check(shares, number, server)
        except AssertionError as problem:
            failures.append(f"{rows[-1]}: {problem}")
    with capsys.disabled():
        print("\nserver            client       at a time  right   wrong   none")
        print("\n".join(rows))
    assert failures == []


def test_the_pairs_name_every_server_and_every_client():
    assert {server for server, _, _ in PAIRWISE} == {*SERVERS, *GRPC, *OTHERS, *RUBY}
    assert {client for _, client, _ in PAIRWISE} == {*BLOCKING, *ASYNCHRONOUS, "gevent",
                                                     *itertools.chain(*GRPC.values(), *OTHERS.values(), *RUBY.values())}
    assert {number for _, _, number in PAIRWISE} == {number for _, _, number in STAY} == {1, 2, 8}
    assert {server for server, _, _ in STAY} == {server for server, _, _ in PAIRWISE}
    assert all((server, client, number) in WHOLE for server, client, number in PAIRWISE)
    assert len(WHOLE) == len(set(WHOLE))
