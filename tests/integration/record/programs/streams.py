"""Every kind of call of gRPC, with texts in the place of messages: a service that asks another one in the same way, and a client.

    streams.py pricing PORT    streams.py orders PORT PRICING [BUG]    streams.py client ORDERS METHOD=WORD,WORD...
"""
import concurrent.futures
import queue
import sys

import grpc

DEADLINE = 20  # seconds
KINDS = {"Get": "unary_unary", "Fail": "unary_unary", "Both": "unary_unary", "Watch": "unary_stream", "Sum": "stream_unary",
         "Talk": "stream_stream"}


class Prices:
    """A price is the length of a word."""

    def Get(self, word, context):
        return b"%d" % len(word)

    Both = Get

    def Fail(self, word, context):
        context.set_trailing_metadata((("x-why", "no such word"),))
        context.abort(grpc.StatusCode.NOT_FOUND, word.decode() + " is not there: ü")

    def Watch(self, word, context):
        for n in range(3):
            yield b"%s %d" % (word, n)

    def Sum(self, words, context):
        return b"%d" % sum(len(word) for word in words)

    def Talk(self, words, context):
        for word in words:
            yield b"%s is %d" % (word, len(word))


def call(channel, method, kind):
    return getattr(channel, kind)(method)


def in_turns(method, words):
    """Each word is sent when the answer to the one before it is there."""
    waiting = queue.Queue()
    answers = method(iter(waiting.get, None), timeout=DEADLINE)
    for word in words:
        waiting.put(word)
        yield next(answers)
    waiting.put(None)
    yield from answers


class Orders:
    def __init__(self, channel, bug):
        self.bug = bug
        self.prices = {name: call(channel, "/shop.Prices/" + name, kind) for name, kind in KINDS.items()}

    def Get(self, word, context):
        return b"costs " + self.prices["Get"](word + (b"!" if self.bug == "input" else b""), timeout=DEADLINE)

    def Both(self, word, context):
        both = [self.prices["Get"].future(each, timeout=DEADLINE) for each in (word, word * 2)]
        return b" and ".join(each.result() for each in both)

    def Fail(self, word, context):
        try:
            self.prices["Fail"](word, timeout=DEADLINE)
        except grpc.RpcError as error:
            why = dict(error.trailing_metadata())["x-why"]
            code = grpc.StatusCode.INTERNAL if self.bug == "status" else error.code()
            context.abort(code, why + ", " + error.details())

    def Watch(self, word, context):
        for answer in self.prices["Watch"](word, timeout=DEADLINE):
            if self.bug != "answer" or not answer.endswith(b"1"):
                yield b"saw " + answer

    def Sum(self, words, context):
        return self.prices["Sum"]((word for word in words if self.bug != "missing" or word != b"two"), timeout=DEADLINE)

    def Talk(self, words, context):
        bug = b"!" if self.bug == "turn" else b""
        for answer in in_turns(self.prices["Talk"], (word + bug for word in words)):
            yield b"heard " + answer


def serve(port, service, name):
    handlers = {method: getattr(grpc, kind + "_rpc_method_handler")(getattr(service, method)) for method, kind in KINDS.items()}
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    if server.add_insecure_port(f"127.0.0.1:{port}") == 0:
        sys.exit("the port is taken")
    server.start()
    server.wait_for_termination()


def ask(address, asked):
    with grpc.insecure_channel(address) as channel:
        for each in asked:
            method, words = each.split("=")
            ask_one(channel, method, [word.encode() for word in words.split(",")])


def ask_one(channel, method, words):
    orders = call(channel, "/shop.Orders/" + method, KINDS[method])
    try:
        if method == "Talk":
            answer = b", ".join(in_turns(orders, words))
        else:
            answer = orders(iter(words) if KINDS[method].startswith("stream") else words[0], timeout=DEADLINE)
            answer = answer if isinstance(answer, bytes) else b", ".join(answer)
        print(method, answer.decode())
    except grpc.RpcError as error:
        print(method, error.code().name, error.details())


def main():
    role, rest = sys.argv[1], sys.argv[2:]
    if role == "pricing":
        serve(rest[0], Prices(), "shop.Prices")
    elif role == "orders":
        serve(rest[0], Orders(grpc.insecure_channel(rest[1]), rest[2] if len(rest) > 2 else ""), "shop.Orders")
    else:
        ask(rest[0], rest[1:])


main()
