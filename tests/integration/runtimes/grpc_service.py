"""A gRPC service of the matrix in Python: grpc_service.py SERVER CLIENT PORT [BACK]

Answers @PATH@ with itself, after calls of BACK with @PATH/0@, of itself with @PATH/self@ (whose own call is
@PATH/self/0@), of BACK with @PATH/1@, on one channel each. A background caller calls BACK with
@/background/<number>@ every 5 ms. SERVER: grpc (a pool of threads), grpc.aio, or back (only answers). CLIENT:
blocking, future, stream (of answers), http (of a service that speaks HTTP), and for grpc.aio: aio, aio-stream,
aio-gather.
All is over TLS if the environment says so (grpc_credentials.py).
"""
import asyncio
import itertools
import sys
import threading
import time
import urllib.request
from concurrent import futures

import grpc

import grpc_credentials

METHOD, STREAM = "/matrix.Web/Get", "/matrix.Web/List"
kind, client, port, back = [*sys.argv[1:], ""][:4]


def steps_of(message):
    """[(channel, message)]"""
    path = message.decode().strip("@")
    if path.endswith("/self"):
        return [("back", f"@{path}/0@")]
    return [("back", f"@{path}/0@"), ("own", f"@{path}/self@"), ("back", f"@{path}/1@")]


class Handler(grpc.GenericRpcHandler):
    """Any method: one answer, or a stream of one."""

    def __init__(self, one, many):
        self.one = grpc.unary_unary_rpc_method_handler(one)
        self.many = grpc.unary_stream_rpc_method_handler(many)

    def service(self, details):
        return self.many if details.method == STREAM else self.one


class Blocking:
    """Channels and calls that wait."""

    def __init__(self):
        self.channels = {"back": grpc_credentials.channel(grpc, back), "own": grpc_credentials.channel(grpc, f"localhost:{port}")}

    def call(self, name, message):
        channel = self.channels[name]
        if client == "future":
            assert channel.unary_unary(METHOD).future(message.encode()).result() == message.encode()
        elif client == "stream":
            assert list(channel.unary_stream(STREAM)(message.encode())) == [message.encode()]
        elif client == "http" and name == "back":
            # The relay answers what it was asked for: the judge reads it there.
            urllib.request.urlopen(f"http://{back}{message.strip('@')}", timeout=60).read()
        else:
            assert channel.unary_unary(METHOD)(message.encode()) == message.encode()

    def beat(self):
        for number in itertools.count():
            try:
                self.call("back", f"@/background/{number}@")
            except (grpc.RpcError, OSError):
                pass
            time.sleep(0.005)


def serve_by_threads():
    calls = Blocking()

    def one(request, context):
        for name, message in steps_of(request):
            calls.call(name, message)
        return request

    def many(request, context):
        yield one(request, context)

    server = grpc.server(futures.ThreadPoolExecutor(32))
    server.add_generic_rpc_handlers((Handler(one, many),))
    grpc_credentials.listen(server, f"127.0.0.1:{port}")
    server.start()
    threading.Thread(target=calls.beat, daemon=True).start()
    server.wait_for_termination()


def serve_answers():
    server = grpc.server(futures.ThreadPoolExecutor(32))

    def one(request, context):
        return request

    def many(request, context):
        yield request

    server.add_generic_rpc_handlers((Handler(one, many),))
    grpc_credentials.listen(server, f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


async def serve_by_tasks():
    channels = {"back": grpc_credentials.channel(grpc.aio, back), "own": grpc_credentials.channel(grpc.aio, f"localhost:{port}")}

    async def call(name, message):
        if client == "aio-stream":
            answers = [answer async for answer in channels[name].unary_stream(STREAM)(message.encode())]
            assert answers == [message.encode()]
        else:
            assert await channels[name].unary_unary(METHOD)(message.encode()) == message.encode()

    async def one(request, context):
        for name, message in steps_of(request):
            if client == "aio-gather":
                await asyncio.gather(call(name, message), asyncio.sleep(0))
            else:
                await call(name, message)
        return request

    async def many(request, context):
        yield await one(request, context)

    async def beat():
        for number in itertools.count():
            try:
                await call("back", f"@/background/{number}@")
            except grpc.RpcError:
                pass
            await asyncio.sleep(0.005)

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Handler(one, many),))
    grpc_credentials.listen(server, f"127.0.0.1:{port}")
    await server.start()
    beating = asyncio.create_task(beat())
    await server.wait_for_termination()
    beating.cancel()


if kind == "grpc":
    serve_by_threads()
elif kind == "grpc.aio":
    asyncio.run(serve_by_tasks())
else:
    serve_answers()
