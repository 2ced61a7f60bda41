"""What test_helpers.py runs: the same blocks as Shop.java and shop.cc."""
import pytest

from filibuster_principled import PrincipledTest, key

USER, CART, PRICE = "shop.UserService/GetUser", "shop.CartService/GetCart", "shop.PricingService/GetPrice"


class TestWhole(PrincipledTest):  # HERE: the test
    def setup_block(self):
        with self.group("pays"):
            with self.without_faults(), self.without_faults():
                pass
            with self.group("twice"):
                pass

    def stub_block(self):
        self.stub_for("user", grpc=USER, request={"session_id": "s1"}, message={"user_id": "ann"})  # HERE: the stub
        self.stub_for("mail", method="POST", path="/mails", answers=[{"status": 503}, {"json": {"sent": True}}])

    def failure_block(self):
        self.assert_on_fault([key(PRICE, request={"code": "DAILY"}), key(PRICE, fault="timeout")], self.full_price)
        self.assert_on_exception("UNAVAILABLE", self.nothing_happened)
        self.assert_fault_throws(USER, "UNAVAILABLE", "no user")
        self.assert_fault_throws(key(service="mail", fault="status:503"), 409)
        self.assert_fault_propagates(CART)
        self.assert_fault_has_no_impact("mail")

    def execute_block(self):
        self.response = 4
        self.outcome(thrown=True, code="UNAVAILABLE", message="no user")

    def assert_test_block(self):
        self.costs(4)

    def assert_stub_block(self):
        self.verify_that(USER, 1)

    def teardown_block(self):
        print("the shop is closed")

    def costs(self, price):
        assert self.response == price  # HERE: it fails

    def full_price(self):
        self.read_only_rpc(CART)

    def nothing_happened(self):
        self.side_effecting_rpc("shop.CartService/UpdateCart", 0)


class TestDerived(TestWhole):
    def assert_test_block(self):
        print("what was written")
        self.costs(3)


class TestMisplaced(TestWhole):
    def setup_block(self):
        self.stub_for("user", path="/", text="")
        self.verify_that(USER, -1)
        self.assert_fault_throws(USER, 409)
        self.assert_fault_propagates(USER)
        self.assert_fault_has_no_impact(USER)
        self.assert_on_fault(USER, self.full_price)
        self.assert_on_exception(409, self.full_price)
        self.read_only_rpc(USER)
        self.side_effecting_rpc(USER, 1)


class TestSwallows(TestWhole):
    def setup_block(self):
        try:
            with self.without_faults():
                pass
        except Exception:
            pass  # what the daemon refused must not be lost


class TestFresh(PrincipledTest):
    executed = 0

    def execute_block(self):
        self.executed += 1

    def assert_test_block(self):
        assert self.executed == 1


class TestOutside(PrincipledTest):
    kept = []

    def execute_block(self):
        self.kept.append(self)

    def teardown_block(self):
        kept = self.kept.pop()
        kept._filibuster.block = None  # as it is between the blocks
        kept.verify_that(USER, 1)


class TestBase(PrincipledTest):  # it has no execute_block
    def setup_block(self):
        raise AssertionError("a base runs")


class TestAlsoBase(TestWhole):
    __test__ = False


class TestOfBases(TestAlsoBase):
    def setup_block(self):
        pytest.skip("not today")


@pytest.mark.skip(reason="marks are seen")
class TestSkipped(TestWhole):
    pass
