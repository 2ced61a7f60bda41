"""The blocks of the order service's structured test, as commands: each is `python3 blocks.py BLOCK [ARGUMENT]`.

The consumer of session s1 is ann, with 20000 on the account; the cart c1 is bob's, and costs 10000.
"""
import os
import sys

import grpc
import redis

import shop_pb2
import shop_pb2_grpc

FUNDS = 20000
STORE = redis.Redis(*os.environ["REDIS"].rsplit(":", 1), decode_responses=True)


def setup():
    STORE.delete("order:ann")
    STORE.mset({"account:ann": FUNDS, "account:bob": 0})


def execute():
    with grpc.insecure_channel(os.environ["ORDER"]) as channel:
        response = shop_pb2_grpc.OrderServiceStub(channel).PlaceOrder(shop_pb2.PurchaseRequest(session_id="s1"), timeout=30)
    STORE.set("response", response.SerializeToString().hex())


def accounts():
    return [int(amount) for amount in STORE.mget("account:ann", "account:bob")]


def paid(total):
    """The purchase was made, and cost so much."""
    response = shop_pb2.PurchaseResponse.FromString(bytes.fromhex(STORE.get("response")))
    assert response.success and response.total == total, f"the answer says {response.total}, not {total}"
    assert STORE.hgetall("order:ann") == {"cart": "c1", "total": str(total)}, STORE.hgetall("order:ann")
    assert accounts() == [FUNDS - total, total], accounts()


def unchanged():
    """No money has moved, and there is no order."""
    assert accounts() == [FUNDS, 0], accounts()
    assert not STORE.exists("order:ann"), STORE.hgetall("order:ann")


def teardown():
    STORE.delete("order:ann", "account:ann", "account:bob", "response")


block, *arguments = sys.argv[1:]
{"setup": setup, "execute": execute, "paid": paid, "unchanged": unchanged, "teardown": teardown}[block](*map(int, arguments))
