// What test_helpers.py runs: the same blocks as shop.py and Shop.java.
#include "filibuster_principled.h"

namespace {

constexpr char kUser[] = "shop.UserService/GetUser";
constexpr char kCart[] = "shop.CartService/GetCart";
constexpr char kPrice[] = "shop.PricingService/GetPrice";

class Whole : public filibuster::PrincipledTest {
  void setup_block() override {
    group("pays", [this] {
      without_faults([this] { without_faults([] {}); });
      group("twice", [] {});
    });
  }

  void stub_block() override {
    const filibuster::Key key = rpc(kUser).request(R"({"session_id": "s1"})");
    stub_for("user", key, answer().message(R"({"user_id": "ann"})"));  // HERE: the stub
    stub_for("mail", "POST /mails", {answer().status(503), answer().json(R"({"sent": true})")});
  }

  void failure_block() override {
    const filibuster::Key daily = rpc(kPrice).request(R"({"code": "DAILY"})");
    assert_on_fault({daily, rpc(kPrice).fault("timeout")}, [this] { full_price(); });
    assert_on_exception("UNAVAILABLE",
                        [this] { side_effecting_rpc("shop.CartService/UpdateCart", 0); });
    assert_fault_throws(kUser, "UNAVAILABLE", "no user");
    assert_fault_throws(rpc("mail").fault("status:503"), 409);
    assert_fault_propagates(rpc(kCart));
    assert_fault_has_no_impact("mail");
  }

  void execute_block() override {
    price_ = 4;
    outcome("UNAVAILABLE", "no user");
  }

  void assert_test_block() override { costs(4); }

  void assert_stub_block() override { verify_that(rpc(kUser), 1); }

  int price_ = 0;

 protected:
  void costs(int price) const {
    EXPECT_EQ(price_, price);  // HERE: it fails
    ASSERT_GT(price_, 0);
  }

  void full_price() { read_only_rpc(kCart); }
};

class Derived : public Whole {
  void assert_test_block() override { costs(3); }
};

class Misplaced : public Whole {
  void setup_block() override {
    stub_for("user", "/", answer().text(""));
    verify_that(kUser, -1);
    assert_fault_throws(kUser, 409);
    assert_fault_propagates(kUser);
    assert_fault_has_no_impact(kUser);
    assert_on_fault(kUser, [this] { full_price(); });
    assert_on_exception(409, [this] { full_price(); });
    read_only_rpc(kUser);
    side_effecting_rpc(kUser, 1);
  }
};

class Swallows : public Whole {
  void setup_block() override {
    try {
      without_faults([] {});
    } catch (...) {
      return;  // what the daemon refused must not be lost
    }
  }
};

class Fresh : public filibuster::PrincipledTest {
  void execute_block() override { ++executed_; }
  void assert_test_block() override { EXPECT_EQ(executed_, 1); }
  int executed_ = 0;
};

class Outside : public filibuster::PrincipledTest {
  void execute_block() override {}
  void teardown_block() override { Outside().verify_that(kUser, 1); }  // nobody runs that instance
};

}  // namespace

FILIBUSTER_PRINCIPLED(Whole)  // HERE: the test
FILIBUSTER_PRINCIPLED(Derived)
FILIBUSTER_PRINCIPLED(Misplaced)
FILIBUSTER_PRINCIPLED(Swallows)
FILIBUSTER_PRINCIPLED(Fresh)
FILIBUSTER_PRINCIPLED(Outside)
