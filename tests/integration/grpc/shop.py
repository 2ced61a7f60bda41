"""The services and the functional test of shop.proto.

    shop.py gateway PORT CART PRICING [--bug]   shop.py cart PORT   shop.py pricing PORT
    shop.py test GATEWAY    shop.py plain GATEWAY
    gateway ... --varies[=twice]: with an identifier that varies in each PriceRequest (of which there are two, from one line)
    ... [--reflection=v1]    what the service asks of server reflection, of that version, goes to stderr

The gateway cannot do without a cart: it hands the status of GetCart on. Without a price it asks for the full
one, 100. With --bug it believes that UNAVAILABLE, and nothing else, brings a price.
"""
import concurrent.futures
import random
import sys
import uuid

import grpc
import google.protobuf.descriptor_pool
import reflection_pb2
import shop_pb2 as shop
import shop_pb2_grpc as stubs

DEADLINE = 5  # seconds


class Gateway(stubs.GatewayServicer):
    def __init__(self, cart, pricing, bug, varies):
        self.carts = stubs.CartServiceStub(grpc.insecure_channel(cart))
        self.prices = stubs.PricingServiceStub(grpc.insecure_channel(pricing))
        self.bug, self.varies = bug, varies

    def Checkout(self, request, context):
        try:
            cart = self.carts.GetCart(shop.GetCartRequest(session_id=request.session_id), timeout=DEADLINE)
        except grpc.RpcError as error:
            context.abort(error.code(), "no cart: " + error.details())
        price = None
        try:
            for code in ("DAILY", "WEEKLY")[:2 if self.varies == "twice" else 1]:
                wanted = shop.PriceRequest(cart_id=cart.cart_id, code=code)
                if self.varies:  # of varying length, too
                    wanted.trace.id = "t" * random.randrange(1, 200) + uuid.uuid4().hex
                price = self.prices.GetPrice(wanted, timeout=DEADLINE)
        except grpc.RpcError as error:
            if not self.bug or error.code() != grpc.StatusCode.UNAVAILABLE:
                price = shop.Price(amount=100)
        return shop.CheckoutResponse(total=price.amount)


class Carts(stubs.CartServiceServicer):
    def GetCart(self, request, context):
        return shop.Cart(cart_id="cart of " + request.session_id)


class Prices(stubs.PricingServiceServicer):
    def GetPrice(self, request, context):
        return shop.Price(amount=90, quote=uuid.uuid4().hex if request.trace.id else "")


def reflect(requests, _):
    """One file at a time, as some servers do: whoever wants what it imports asks again."""
    pool = google.protobuf.descriptor_pool.Default()
    for request in requests:
        name = request.file_containing_symbol or request.file_by_filename
        print("asked for", name, file=sys.stderr, flush=True)
        find = pool.FindFileContainingSymbol if request.file_containing_symbol else pool.FindFileByName
        try:
            file = find(name).serialized_pb
            yield reflection_pb2.Response(file_descriptor_response=reflection_pb2.Files(file_descriptor_proto=[file]))
        except KeyError:
            yield reflection_pb2.Response(error_response=reflection_pb2.Error(error_code=5, error_message="no " + name))


def add_reflection(server, version):
    handler = grpc.stream_stream_rpc_method_handler(
        reflect, reflection_pb2.Request.FromString, reflection_pb2.Response.SerializeToString)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
        f"grpc.reflection.{version}.ServerReflection", {"ServerReflectionInfo": handler})])


def varies(options):
    return "twice" if "--varies=twice" in options else "--varies" in options


def serve(role, port, rest):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    if role == "gateway":
        stubs.add_GatewayServicer_to_server(Gateway(rest[0], rest[1], "--bug" in rest, varies(rest)), server)
    elif role == "cart":
        stubs.add_CartServiceServicer_to_server(Carts(), server)
    else:
        stubs.add_PricingServiceServicer_to_server(Prices(), server)
    for option in rest:
        if option.startswith("--reflection="):
            add_reflection(server, option.removeprefix("--reflection="))
    assert server.add_insecure_port("127.0.0.1:" + port) == int(port)
    server.start()
    server.wait_for_termination()


def test(gateway):
    from filibuster_predicates import was_fault_injected

    with grpc.insecure_channel(gateway) as channel:
        try:
            total = stubs.GatewayStub(channel).Checkout(shop.CheckoutRequest(session_id="s1"), timeout=30).total
        except grpc.RpcError as error:
            print("Checkout:", error.code().name, error.details())
            assert was_fault_injected(grpc="shop.CartService/GetCart", arguments={"session_id": "s1"})
            assert not was_fault_injected(grpc="shop.CartService/GetCart", arguments={"session_id": "s2"})
            assert not was_fault_injected(grpc="shop.PricingService")
            return
    assert not was_fault_injected(service="cart", method="GetCart")
    full = was_fault_injected(grpc="PricingService/GetPrice", arguments={"code": "DAILY"})
    assert total == (100 if full else 90), total


def plain(gateway):
    """The same without questions about arguments."""
    with grpc.insecure_channel(gateway) as channel:
        try:
            assert stubs.GatewayStub(channel).Checkout(shop.CheckoutRequest(session_id="s1"), timeout=30).total in (90, 100)
        except grpc.RpcError as error:
            print("Checkout:", error.code().name, error.details())


if __name__ == "__main__":
    if sys.argv[1] == "plain":
        plain(sys.argv[2])
    elif sys.argv[1] == "test":
        test(sys.argv[2])
    else:
        serve(sys.argv[1], sys.argv[2], sys.argv[3:])
