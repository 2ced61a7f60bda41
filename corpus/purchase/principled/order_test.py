"""The order service alone, as in order.json: the test in Python. STEP=0 to 8 is how far the tutorial of docs/principled.md has come.

    filibuster principled -c order_program.json -- python3 -m pytest -q -p filibuster_principled order_test.py
"""
import os

import grpc
import redis
from filibuster_principled import PrincipledTest, key

import shop_pb2
import shop_pb2_grpc

GET_USER, GET_CART = "shop.UserService/GetUser", "shop.CartService/GetCart"
GET_ADJUSTMENT, UPDATE_CART = "shop.PricingAdjustmentService/GetAdjustment", "shop.CartService/UpdateCart"
FIRST_TIME = key(GET_ADJUSTMENT, fields={"/code": "FIRST-TIME"})
NO_USER, NO_CART = (f"the purchase could not be completed, try again: no {lost}" for lost in ("user", "cart"))
STEP = int(os.environ.get("STEP", "8"))
FUNDS = 20000
STORE = redis.Redis(*os.environ["REDIS"].rsplit(":", 1), decode_responses=True)


class TestOrder(PrincipledTest):
    def setup_block(self):
        STORE.delete("order:ann")
        STORE.mset({"account:ann": FUNDS, "account:bob": 0})

    def stub_block(self):
        if STEP < 1:
            return
        self.stub_for("user", grpc=GET_USER, request={"session_id": "s1"}, message={"user_id": "ann"})
        self.stub_for("cart", grpc=GET_CART, request={"session_id": "s1"}, message={"cart_id": "c1", "merchant_id": "bob", "total": 10000})
        self.stub_for("cart", grpc=UPDATE_CART, request={"cart_id": "c1", "discount_percent": 10},
                      message={"cart_id": "c1", "merchant_id": "bob", "total": 9000})
        self.stub_for("pricing", grpc=GET_ADJUSTMENT, fields={"/code": "FIRST-TIME"}, message={"percent": 10})

    def failure_block(self):
        if STEP >= 3:
            self.assert_fault_throws(GET_USER, "UNAVAILABLE", NO_USER)
        if STEP >= 4:
            self.assert_on_exception("UNAVAILABLE", self.nothing_happened)
        if STEP >= 5:
            self.assert_fault_throws(GET_CART, "UNAVAILABLE", NO_CART)
        if STEP >= 6:
            self.assert_on_fault(FIRST_TIME, self.without_discount)
        if STEP >= 8:
            self.assert_on_fault(UPDATE_CART, lambda: self.paid(10000))

    def execute_block(self):
        with grpc.insecure_channel(os.environ["ORDER"]) as channel:
            self.response = shop_pb2_grpc.OrderServiceStub(channel).PlaceOrder(shop_pb2.PurchaseRequest(session_id="s1"), timeout=30)

    def assert_test_block(self):
        self.paid(9000)

    def assert_stub_block(self):
        if STEP < 2:
            return
        for rpc in (GET_USER, GET_CART, GET_ADJUSTMENT, UPDATE_CART):
            self.verify_that(rpc, 1)

    def teardown_block(self):
        STORE.delete("order:ann", "account:ann", "account:bob")

    def paid(self, total):
        assert self.response.success and self.response.total == total
        assert STORE.hgetall("order:ann") == {"cart": "c1", "total": str(total)}
        assert STORE.mget("account:ann", "account:bob") == [str(FUNDS - total), str(total)]

    def nothing_happened(self):
        assert STORE.mget("account:ann", "account:bob") == [str(FUNDS), "0"]
        assert not STORE.exists("order:ann")
        self.read_only_rpc(GET_CART)
        self.read_only_rpc(GET_ADJUSTMENT)
        self.side_effecting_rpc(UPDATE_CART, 0)

    def without_discount(self):
        self.paid(10000)
        if STEP >= 7:
            self.side_effecting_rpc(UPDATE_CART, 0)
