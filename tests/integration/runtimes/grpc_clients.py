"""The test of the gRPC matrix: grpc_clients.py NUMBER ROUNDS HOST:PORT. NUMBER threads, each calls ROUNDS times on a
channel of its own, all at once, and expects its message back. No id comes twice.

wait_for_ready: gRPC 1.51 reads errno late after a connect, and its own first contended mutex (which looks for a file
that virtual machines lack) may have changed it to ENOENT by then; such a channel connects again after a second."""
import sys
import threading

import grpc

import grpc_credentials

number, rounds, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
start, failed = threading.Barrier(number), []


def call(n):
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc_credentials.channel(grpc, address, options=options) as channel:
        start.wait()
        for r in range(rounds):
            message = f"@/{n}-{r}@".encode()
            try:
                if channel.unary_unary("/matrix.Web/Get")(message, timeout=60, wait_for_ready=True) != message:
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
