"""The order service alone, as in discounts.json: the test in Python. It is order_test.py's with two more discounts, and then with a
notification. STEP=9 to 17 is how far the tutorial of docs/principled.md has come.

    filibuster principled -c discounts_program.json -- python3 -m pytest -q -p filibuster_principled discounts_test.py
"""
import functools
import os

import order_test
from filibuster_principled import key
from order_test import FIRST_TIME, GET_ADJUSTMENT, GET_CART, GET_USER, NO_CART, NO_USER, UPDATE_CART

RETURNING = key(GET_ADJUSTMENT, fields={"/code": "RETURNING"})
DAILY = key(GET_ADJUSTMENT, fields={"/code": "DAILY"})
NOTIFY_ORDER = "shop.CartService/NotifyOrder"
STEP = int(os.environ.get("STEP", "17"))


class TestDiscounts(order_test.TestOrder):
    def stub_block(self):
        super().stub_block()
        for code, percent, total in (("RETURNING", 5, 9500), ("DAILY", 1, 9900)):
            self.stub_for("pricing", grpc=GET_ADJUSTMENT, fields={"/code": code}, message={"percent": percent})
            self.stub_for("cart", grpc=UPDATE_CART, request={"cart_id": "c1", "discount_percent": percent},
                          message={"cart_id": "c1", "merchant_id": "bob", "total": total})
        if STEP >= 15:
            self.stub_for("cart", grpc=NOTIFY_ORDER, request={"cart_id": "c1"}, message={})

    def failure_block(self):
        if STEP < 11:
            super().failure_block()
            return
        self.assert_fault_throws(GET_USER, "UNAVAILABLE", NO_USER)
        self.assert_fault_throws(GET_CART, "UNAVAILABLE", NO_CART)
        self.assert_on_exception("UNAVAILABLE", self.nothing_happened)
        self.assert_on_fault(FIRST_TIME, lambda: self.paid(9500))
        self.assert_on_fault(GET_ADJUSTMENT, lambda: self.paid(9000))
        self.assert_on_fault(UPDATE_CART, lambda: self.paid(10000))
        if STEP >= 12:
            for two, total in (([FIRST_TIME, RETURNING], 9900), ([FIRST_TIME, DAILY], 9500), ([RETURNING, DAILY], 9000)):
                self.assert_on_fault(two, functools.partial(self.paid, total))
        if STEP >= 13:
            self.assert_on_fault([GET_ADJUSTMENT, UPDATE_CART], lambda: self.paid(10000))
        if STEP >= 14:
            self.assert_on_fault([GET_ADJUSTMENT] * 3, self.without_discount)
            self.assert_on_fault([GET_ADJUSTMENT] * 2 + [UPDATE_CART], lambda: self.paid(10000))
        if STEP >= 17:
            self.assert_fault_has_no_impact(NOTIFY_ORDER)

    def assert_stub_block(self):
        if STEP < 10:
            super().assert_stub_block()
            return
        for rpc in (GET_USER, GET_CART, FIRST_TIME, RETURNING, DAILY, UPDATE_CART):
            self.verify_that(rpc, 1)
        if STEP >= 15:
            self.verify_that(NOTIFY_ORDER, 1)

    def nothing_happened(self):
        super().nothing_happened()
        if STEP >= 16:
            self.side_effecting_rpc(NOTIFY_ORDER, 0)
