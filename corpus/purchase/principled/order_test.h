// The order service alone, as in order.json: the test in C++, whose blocks are the same commands.
// STEP=0 to 8 is how far the tutorial of docs/principled.md has come. order_test.cc runs it, and
// discounts_test.cc adds to it.
#ifndef FILIBUSTER_CORPUS_PURCHASE_PRINCIPLED_ORDER_TEST_H
#define FILIBUSTER_CORPUS_PURCHASE_PRINCIPLED_ORDER_TEST_H

#include <cstdlib>
#include <string>

#include "filibuster_principled.h"

inline constexpr char kGetUser[] = "shop.UserService/GetUser";
inline constexpr char kGetCart[] = "shop.CartService/GetCart";
inline constexpr char kGetAdjustment[] = "shop.PricingAdjustmentService/GetAdjustment";
inline constexpr char kUpdateCart[] = "shop.CartService/UpdateCart";
inline constexpr char kNoUser[] = "the purchase could not be completed, try again: no user";
inline constexpr char kNoCart[] = "the purchase could not be completed, try again: no cart";

class Order : public filibuster::PrincipledTest {
 protected:
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
    if (step_ >= 4) assert_on_exception("UNAVAILABLE", [this] { nothing_happened(); });
    if (step_ >= 5) assert_fault_throws(kGetCart, "UNAVAILABLE", kNoCart);
    if (step_ >= 6) assert_on_fault(first_time(), [this] { without_discount(); });
    if (step_ >= 8) assert_on_fault(kUpdateCart, [] { paid(10000); });
  }

  void execute_block() override { run("/usr/bin/python3 place_order.py"); }

  void assert_test_block() override { paid(9000); }

  void assert_stub_block() override {
    if (step_ < 2) return;
    for (const char* rpc : {kGetUser, kGetCart, kGetAdjustment, kUpdateCart}) verify_that(rpc, 1);
  }

  void teardown_block() override { run("sh blocks.sh teardown"); }

  virtual void nothing_happened() {
    run("sh blocks.sh unchanged");
    read_only_rpc(kGetCart);
    read_only_rpc(kGetAdjustment);
    side_effecting_rpc(kUpdateCart, 0);
  }

  void without_discount() {
    paid(10000);
    if (step_ >= 7) side_effecting_rpc(kUpdateCart, 0);
  }

  static void paid(int total) { run("sh blocks.sh paid " + std::to_string(total)); }

  static filibuster::Key first_time() {
    return rpc(kGetAdjustment).fields(R"({"/code": "FIRST-TIME"})");
  }
  static void run(const std::string& command) {
    // NOLINTNEXTLINE(cert-env33-c): the blocks are commands
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  static int step(int last) {
    const char* const step = std::getenv("STEP");
    return step == nullptr ? last : std::atoi(step);
  }

 private:
  const int step_ = step(8);
};

#endif
