"""The test of a gateway (gateways.py): ask.py say HOST:PORT WORDS... prints what the command gives.

ask.py matrix HOST:PORT KIND,... NUMBER,... ROUNDS: for each kind and number, so many threads call ROUNDS times on a channel of
their own, all at once, and expect their message back. No message comes twice.
"""
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


def together(address, kind, number, rounds):
    start, failed = threading.Barrier(number), []

    def call(n):
        with channel(address) as own:
            start.wait()
            for r in range(rounds):
                message = f"@/{kind}/{number}-{n}-{r}@".encode()
                try:
                    answer = own.unary_unary(METHOD)(message, timeout=SECONDS)
                    if answer != message:
                        failed.append((message, answer))
                except grpc.RpcError as problem:
                    failed.append((message, problem.code(), problem.details()))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def matrix(address, kinds, numbers, rounds):
    failed = [problem for kind in kinds.split(",") for number in numbers.split(",")
              for problem in together(address, kind, int(number), int(rounds))]
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit({"say": say, "matrix": matrix}[sys.argv[1]](*sys.argv[2:]))
