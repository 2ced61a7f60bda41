"""The test of a gateway (gateways.py): ask.py say HOST:PORT WORDS... prints what the command gives.

ask.py matrix HOST:PORT KIND,... NUMBER,... ROUNDS: for each kind and number, so many threads call ROUNDS times on a channel of
their own, all at once, and expect their message back. No message comes twice. `get`: the same by HTTP.
"""
import contextlib
import http.client
import sys
import threading

import grpc

SECONDS = 60
METHOD = "/matrix.Web/Get"


def channel(address):
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


def say(address, *words):
    with channel(address) as own:
        print(own.unary_unary(METHOD)(" ".join(words).encode(), timeout=SECONDS).decode(), end="")


@contextlib.contextmanager
def by_grpc(address):
    with channel(address) as own:
        yield lambda path: own.unary_unary(METHOD)(f"@{path}@".encode(), timeout=SECONDS) == f"@{path}@".encode()


@contextlib.contextmanager
def by_http(address):
    connection = http.client.HTTPConnection(address, timeout=SECONDS)

    def get(path):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status == 200

    yield get
    connection.close()


def together(way, address, kind, number, rounds):
    start, failed = threading.Barrier(number), []

    def call(n):
        with way(address) as get:
            start.wait()
            for r in range(rounds):
                path = f"/{kind}/{number}-{n}-{r}"
                try:
                    if not get(path):
                        failed.append(path)
                except (grpc.RpcError, OSError, http.client.HTTPException) as problem:
                    failed.append((path, problem))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def matrix(way, address, kinds, numbers, rounds):
    failed = [problem for kind in kinds.split(",") for number in numbers.split(",")
              for problem in together(way, address, kind, int(number), int(rounds))]
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    sys.exit(say(*rest) if verb == "say" else matrix(by_http if verb == "get" else by_grpc, *rest))
