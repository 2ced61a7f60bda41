"""A consumer pays for the cart, less the best discount; what fails decides what it costs.

VARIANT says what the order service promises: `soft` (prices, the cart's update and the notification may
fail without failing the purchase) or `hard` (nothing may).
"""
import os

import grpc
import redis

import shop_pb2
import shop_pb2_grpc
from filibuster_predicates import was_fault_injected

FUNDS, PRICE = 20000, 10000
PERCENTS = {"FIRST-TIME": 10, "RETURNING": 5, "DAILY": 1}
CODES = os.environ.get("CODES", "FIRST-TIME").split(",")
NOTIFY = os.environ.get("NOTIFY") == "1"
HARD = os.environ.get("VARIANT") == "hard"


def faulted(method, **arguments):
    return was_fault_injected(grpc=f"shop.{method}", arguments=arguments)


def set_up(store):
    store.flushall()
    store.set("session:s1:user", "ann")
    store.set("session:s1:cart", "c1")
    store.hset("cart:c1", mapping={"merchant": "bob", "total": PRICE, "shipping": 700})
    store.mset({"account:ann": FUNDS, "account:bob": 0})


def purchase():
    """The response, or the error."""
    with grpc.insecure_channel(os.environ["GATEWAY"]) as channel:
        try:
            return shop_pb2_grpc.ApiGatewayStub(channel).MakePurchase(
                shop_pb2.PurchaseRequest(session_id="s1"), timeout=30)
        except grpc.RpcError as error:
            return error


def must_fail():
    """Under the faults that were injected."""
    needed = ["OrderService/PlaceOrder", "UserService/GetUser", "CartService/GetCart"]
    if HARD:
        needed += ["PricingAdjustmentService/GetAdjustment", "CartService/UpdateCart", "CartService/NotifyOrder"]
    return any(faulted(method) for method in needed)


def discount():
    granted = [PERCENTS[code] for code in CODES
               if not faulted("PricingAdjustmentService/GetAdjustment", code=code)]
    return 0 if faulted("CartService/UpdateCart") else max(granted, default=0)


store = redis.Redis(*os.environ["REDIS"].rsplit(":", 1), decode_responses=True)
set_up(store)
answer = purchase()
ann, bob = (int(amount) for amount in store.mget("account:ann", "account:bob"))
order = store.hgetall("order:ann")

if must_fail():
    assert isinstance(answer, grpc.RpcError), f"a purchase in spite of a fault that forbids it: {answer}"
    assert answer.code() == grpc.StatusCode.UNAVAILABLE, answer
    assert (ann, bob) == (FUNDS, 0) and order == {}, f"it failed, but the money moved: {ann}, {bob}, {order}"
else:
    assert not isinstance(answer, grpc.RpcError), f"the purchase failed: {answer}"
    total = PRICE - PRICE * discount() // 100
    assert answer.success and answer.total == total, f"expected a total of {total}, got {answer.total}"
    assert (ann, bob) == (FUNDS - total, total), (ann, bob)
    assert order == {"cart": "c1", "total": str(total)}, order
    if NOTIFY and not faulted("CartService/NotifyOrder"):
        assert store.lrange("mails", 0, -1) == ["c1"]
