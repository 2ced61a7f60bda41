"""What the Python services of this application share: a gRPC server on a port, and Redis."""
import concurrent.futures
import os
import sys

import grpc
import redis


def store():
    host, port = os.environ["REDIS"].rsplit(":", 1)
    return redis.Redis(host, int(port), decode_responses=True)


def serve(add, servicer):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    add(servicer, server)
    if server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}") == 0:
        sys.exit(f"cannot listen on port {sys.argv[1]}")
    server.start()
    server.wait_for_termination()
