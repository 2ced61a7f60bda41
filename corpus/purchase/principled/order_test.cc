// The order service alone, as in order.json: the test in C++, whose blocks are the same commands. STEP=0 to 8 is how far the
// tutorial of docs/principled.md has come.
#include <cstdlib>

#include "filibuster_principled.h"

namespace {

constexpr char kGetUser[] = "shop.UserService/GetUser";
constexpr char kGetCart[] = "shop.CartService/GetCart";
constexpr char kGetAdjustment[] = "shop.PricingAdjustmentService/GetAdjustment";
constexpr char kUpdateCart[] = "shop.CartService/UpdateCart";
constexpr char kNoUser[] = "the purchase could not be completed, try again: no user";
constexpr char kNoCart[] = "the purchase could not be completed, try again: no cart";

class Order : public filibuster::PrincipledTest {
  void setup_block() override { run("sh blocks.sh setup"); }

  void stub_block() override {
    if (step_ < 1) return;
    stub_for("user", rpc(kGetUser).request(R"({"session_id": "s1"})"),
             answer().message(R"({"user_id": "ann"})"));
    stub_for("cart", rpc(kGetCart).request(R"({"session_id": "s1"})"),
             answer().message(R"({"cart_id": "c1", "merchant_id": "bob", "total": 10000})"));
    stub_for("cart", rpc(kUpdateCart).request(R"({"cart_id": "c1", "discount_percent": 10})"),
             answer().message(R"({"cart_id": "c1", "merchant_id": "bob", "total": 9000})"));
    stub_for("pricing", first_time(), answer().message(R"({"percent": 10})"));
  }

  void failure_block() override {
    if (step_ >= 3) assert_fault_throws(kGetUser, "UNAVAILABLE", kNoUser);
    if (step_ >= 4) {
      assert_on_exception("UNAVAILABLE", [this] {
        run("sh blocks.sh unchanged");
        read_only_rpc(kGetCart);
        read_only_rpc(kGetAdjustment);
        side_effecting_rpc(kUpdateCart, 0);
      });
    }
    if (step_ >= 5) assert_fault_throws(kGetCart, "UNAVAILABLE", kNoCart);
    if (step_ >= 6) {
      assert_on_fault(first_time(), [this] {
        run("sh blocks.sh paid 10000");
        if (step_ >= 7) side_effecting_rpc(kUpdateCart, 0);
      });
    }
    if (step_ >= 8) assert_on_fault(kUpdateCart, [] { run("sh blocks.sh paid 10000"); });
  }

  void execute_block() override { run("/usr/bin/python3 place_order.py"); }

  void assert_test_block() override { run("sh blocks.sh paid 9000"); }

  void assert_stub_block() override {
    if (step_ < 2) return;
    for (const char* rpc : {kGetUser, kGetCart, kGetAdjustment, kUpdateCart}) verify_that(rpc, 1);
  }

  void teardown_block() override { run("sh blocks.sh teardown"); }

  static filibuster::Key first_time() {
    return rpc(kGetAdjustment).fields(R"({"/code": "FIRST-TIME"})");
  }
  // NOLINTNEXTLINE(cert-env33-c): the blocks are commands
  static void run(const char* command) { EXPECT_EQ(std::system(command), 0) << command; }

  const int step_ = std::getenv("STEP") == nullptr ? 8 : std::atoi(std::getenv("STEP"));
};
FILIBUSTER_PRINCIPLED(Order)

}  // namespace
