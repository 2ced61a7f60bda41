// The order service alone, as in discounts.json: the test in C++. It is order_test.h's with two
// more discounts, and then with a notification. STEP=9 to 17 is how far the tutorial of
// docs/principled.md has come.
#include "order_test.h"

namespace {

constexpr char kNotifyOrder[] = "shop.CartService/NotifyOrder";

class Discounts : public Order {
  void stub_block() override {
    Order::stub_block();
    stub_for("cart", rpc(kUpdateCart).request(R"({"cart_id": "c1", "discount_percent": 5})"),
             answer().message(R"({"cart_id": "c1", "merchant_id": "bob", "total": 9500})"));
    stub_for("cart", rpc(kUpdateCart).request(R"({"cart_id": "c1", "discount_percent": 1})"),
             answer().message(R"({"cart_id": "c1", "merchant_id": "bob", "total": 9900})"));
    stub_for("pricing", returning(), answer().message(R"({"percent": 5})"));
    stub_for("pricing", daily(), answer().message(R"({"percent": 1})"));
    if (step_ < 15) return;
    stub_for("cart", rpc(kNotifyOrder).request(R"({"cart_id": "c1"})"), answer().message("{}"));
  }

  void failure_block() override {
    if (step_ < 11) return Order::failure_block();
    assert_fault_throws(kGetUser, "UNAVAILABLE", kNoUser);
    assert_fault_throws(kGetCart, "UNAVAILABLE", kNoCart);
    assert_on_exception("UNAVAILABLE", [this] { nothing_happened(); });
    assert_on_fault(first_time(), [] { paid(9500); });
    assert_on_fault(kGetAdjustment, [] { paid(9000); });
    assert_on_fault(kUpdateCart, [] { paid(10000); });
    if (step_ >= 12) {
      assert_on_fault({first_time(), returning()}, [] { paid(9900); });
      assert_on_fault({first_time(), daily()}, [] { paid(9500); });
      assert_on_fault({returning(), daily()}, [] { paid(9000); });
    }
    if (step_ >= 13) assert_on_fault({kGetAdjustment, kUpdateCart}, [] { paid(10000); });
    if (step_ >= 14) {
      assert_on_fault({kGetAdjustment, kGetAdjustment, kGetAdjustment},
                      [this] { without_discount(); });
      assert_on_fault({kGetAdjustment, kGetAdjustment, kUpdateCart}, [] { paid(10000); });
    }
    if (step_ >= 17) assert_fault_has_no_impact(kNotifyOrder);
  }

  void assert_stub_block() override {
    if (step_ < 10) return Order::assert_stub_block();
    for (const char* rpc : {kGetUser, kGetCart, kUpdateCart}) verify_that(rpc, 1);
    for (const filibuster::Key& rpc : {first_time(), returning(), daily()}) verify_that(rpc, 1);
    if (step_ >= 15) verify_that(kNotifyOrder, 1);
  }

  void nothing_happened() override {
    Order::nothing_happened();
    if (step_ >= 16) side_effecting_rpc(kNotifyOrder, 0);
  }

  static filibuster::Key returning() {
    return rpc(kGetAdjustment).fields(R"({"/code": "RETURNING"})");
  }
  static filibuster::Key daily() { return rpc(kGetAdjustment).fields(R"({"/code": "DAILY"})"); }

  const int step_ = step(17);
};
FILIBUSTER_PRINCIPLED(Discounts)

}  // namespace
