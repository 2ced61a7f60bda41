"""A gRPC server without stubs: four kinds of calls on bytes; counts what arrives.

`grpc_server.py PORT`: /t.T/Unary repeats the message; /t.T/Down sends it back N times (the message is
the number); /t.T/Up answers the number of messages; /t.T/Both repeats each; /t.T/Count answers how many
other calls arrived.
"""
import concurrent.futures
import sys
import threading

import grpc

lock, calls = threading.Lock(), 0


def counted(handler):
    def call(request, context):
        global calls
        with lock:
            calls += 1
        return handler(request, context)
    return call


def down(message, _):
    for n in range(int(message)):
        yield str(n).encode()


def both(messages, _):
    for message in messages:
        yield message


server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", {
    "Unary": grpc.unary_unary_rpc_method_handler(counted(lambda message, _: message)),
    "Down": grpc.unary_stream_rpc_method_handler(counted(down)),
    "Up": grpc.stream_unary_rpc_method_handler(
        counted(lambda messages, _: str(sum(1 for _ in messages)).encode())),
    "Both": grpc.stream_stream_rpc_method_handler(counted(both)),
    "Count": grpc.unary_unary_rpc_method_handler(lambda *_: str(calls).encode()),
}),))
if server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}") == 0:
    sys.exit(1)
server.start()
server.wait_for_termination()
