"""calls.py serve PORT: calls.Calls in Python. calls.py kinds PORT: one call of each kind.
calls.py threads PORT T N: T threads with N calls each over one channel; prints what did not succeed."""
import collections
import concurrent.futures
import sys

import grpc

import calls_pb2
import calls_pb2_grpc

SECONDS = 20  # a call that takes longer hangs


class Service(calls_pb2_grpc.CallsServicer):
    def Double(self, request, context):
        if request.value < 0:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "below zero: 50 % offä")
        return calls_pb2.Number(value=2 * request.value, ballast=request.ballast)

    def Sum(self, requests, context):
        return calls_pb2.Number(value=sum(number.value for number in requests))

    def Count(self, request, context):
        for value in range(1, request.value + 1):
            yield calls_pb2.Number(value=value)

    def Negate(self, requests, context):
        for number in requests:
            yield calls_pb2.Number(value=-number.value)


def serve(port):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=8))
    calls_pb2_grpc.add_CallsServicer_to_server(Service(), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def told(what, call):
    try:
        print(what, "0 []", call())
    except grpc.RpcError as error:
        print(what, f"{error.code().value[0]} [{error.details()}]", 0)


def numbers(*values):
    return (calls_pb2.Number(value=value) for value in values)


def kinds(stub):
    for value in (21, -1):
        told("double", lambda: stub.Double(calls_pb2.Number(value=value), timeout=SECONDS).value)
    told("sum", lambda: stub.Sum(numbers(1, 2, 3, 4, 5), timeout=SECONDS).value)
    told("count", lambda: "".join(f"{n.value}," for n in stub.Count(calls_pb2.Number(value=4), timeout=SECONDS)))
    told("negate", lambda: "".join(f"{n.value}," for n in stub.Negate(numbers(1, 2, 3), timeout=SECONDS)))


def threads(stub, count, each):
    def call(value):
        try:
            answer = stub.Double(calls_pb2.Number(value=value), timeout=SECONDS)
            return value, "good" if answer.value == 2 * value else "wrong"
        except grpc.RpcError as error:
            return value, error.code().value[0]

    with concurrent.futures.ThreadPoolExecutor(max_workers=count) as pool:
        results = list(pool.map(call, range(1, count * each + 1)))
    tally = collections.Counter(result for _, result in results)
    failed = [(value, result) for value, result in results if result not in ("good", "wrong")]
    print(f"good {tally['good']} wrong {tally['wrong']} failed {len(failed)}")
    for value, code in failed:
        print(f"{value}: {code}")


if __name__ == "__main__":
    mode, port = sys.argv[1:3]
    if mode == "serve":
        serve(port)
    else:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            client = calls_pb2_grpc.CallsStub(channel)
            kinds(client) if mode == "kinds" else threads(client, *map(int, sys.argv[3:5]))
