// The order service. The user and the cart are hard dependencies: without them there is no
// purchase. The price adjustment, the update of the cart and the notification are soft ones, or,
// with DEPENDENCIES=hard, as hard as the others.
#include <algorithm>

#include "corpus/purchase/service.h"
#include "shop.grpc.pb.h"

namespace {

grpc::Status not_completed(const std::string& why) {
  return {grpc::StatusCode::UNAVAILABLE, "the purchase could not be completed, try again: " + why};
}

class Order final : public shop::OrderService::Service {
  grpc::Status PlaceOrder(grpc::ServerContext*, const shop::PurchaseRequest* request,
                          shop::PurchaseResponse* response) override {
    shop::User user;
    if (!get_user(request->session_id(), &user)) return not_completed("no user");
    shop::Cart cart;
    if (!get_cart(request->session_id(), &cart)) return not_completed("no cart");

    int percent = 0;
    for (const std::string& code : codes_) {
      int found = 0;
      if (get_adjustment(code, user, cart, &found)) {
        percent = std::max(percent, found);
      } else if (hard_) {
        return not_completed("no price adjustment");
      }
    }
    if (percent > 0 && !update_cart(percent, &cart) && hard_) {
      return not_completed("the cart could not be updated");
    }
    if (!transfer(user, cart)) return not_completed("no transfer");
    if (notifies_ && !notify(cart) && hard_) return not_completed("no notification");
    response->set_success(true);
    response->set_cart_id(cart.cart_id());
    response->set_total(cart.total());
    return grpc::Status::OK;
  }

  bool get_user(const std::string& session, shop::User* user) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::GetUserRequest request;
    request.set_session_id(session);
    return users_->GetUser(&context, request, user).ok();
  }

  bool get_cart(const std::string& session, shop::Cart* cart) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::GetCartRequest request;
    request.set_session_id(session);
    return carts_->GetCart(&context, request, cart).ok();
  }

  bool get_adjustment(const std::string& code, const shop::User& user, const shop::Cart& cart,
                      int* percent) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::AdjustmentRequest request;
    request.set_code(code);
    request.set_user_id(user.user_id());
    *request.mutable_cart() = cart;
    shop::Adjustment adjustment;
    if (!pricing_->GetAdjustment(&context, request, &adjustment).ok()) return false;
    *percent = adjustment.percent();
    return true;
  }

  bool update_cart(int percent, shop::Cart* cart) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::UpdateCartRequest request;
    request.set_cart_id(cart->cart_id());
    request.set_discount_percent(percent);
    shop::Cart updated;
    if (!carts_->UpdateCart(&context, request, &updated).ok()) return false;
    *cart = updated;
    return true;
  }

  bool notify(const shop::Cart& cart) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::NotifyOrderRequest request;
    request.set_cart_id(cart.cart_id());
    shop::NotifyOrderResponse response;
    return carts_->NotifyOrder(&context, request, &response).ok();
  }

  // The money of the consumer goes to the merchant, and the order is written, or neither.
  bool transfer(const shop::User& user, const shop::Cart& cart) {
    const std::string amount = std::to_string(cart.total());
    try {
      shop::Redis store;
      store.run({"MULTI"});
      store.run({"DECRBY", "account:" + user.user_id(), amount});
      store.run({"INCRBY", "account:" + cart.merchant_id(), amount});
      store.run({"HSET", "order:" + user.user_id(), "cart", cart.cart_id(), "total", amount});
      store.run({"EXEC"});
    } catch (const std::exception& error) {
      std::cerr << "order: " << error.what() << "\n";
      return false;
    }
    return true;
  }

  const bool hard_ = shop::setting("DEPENDENCIES", "soft") == "hard";
  const bool notifies_ = shop::setting("NOTIFY", "0") == "1";
  const std::vector<std::string> codes_ = shop::split(shop::setting("CODES", "FIRST-TIME"));
  const std::chrono::milliseconds timeout_ = shop::milliseconds("TIMEOUT_MS", 500);
  const std::unique_ptr<shop::UserService::Stub> users_ =
      shop::client_of<shop::UserService>("USERS");
  const std::unique_ptr<shop::CartService::Stub> carts_ =
      shop::client_of<shop::CartService>("CARTS");
  const std::unique_ptr<shop::PricingAdjustmentService::Stub> pricing_ =
      shop::client_of<shop::PricingAdjustmentService>("PRICING");
};

}  // namespace

int main(int argc, char** argv) {
  Order order;
  return shop::serve(&order, argc, argv);
}
