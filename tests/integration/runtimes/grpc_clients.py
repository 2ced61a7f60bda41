"""The test of the gRPC matrix: grpc_clients.py NUMBER ROUNDS HOST:PORT. NUMBER threads, each calls ROUNDS times on a
channel of its own, all at once, and expects its message back. No id comes twice."""
import sys
import threading

import grpc

number, rounds, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
start, failed = threading.Barrier(number), []


def call(n):
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(address, options=options) as channel:
        start.wait()
        for r in range(rounds):
            message = f"@/{n}-{r}@".encode()
            try:
                if channel.unary_unary("/matrix.Web/Get")(message, timeout=60) != message:
                    failed.append(message)
            except grpc.RpcError as problem:
                failed.append(problem)


threads = [threading.Thread(target=call, args=(n,)) for n in range(number)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failed, file=sys.stderr)
sys.exit(1 if failed else 0)
