// The pricing adjustment service: what a code is worth, for a cart that is not too dear to ship.
// Shipping is a soft dependency: without its answer the usual rate is taken.
//
// Its patience with shipping (SHIPPING_TIMEOUT_MS) must be shorter than the order service's with
// it. Where it is not, a slow shipping service costs the consumer the discount, although this
// service would have granted it: the latent bug of latent-bug.json.
#include <map>

#include "corpus/purchase/service.h"
#include "shop.grpc.pb.h"

namespace {

constexpr int64_t kUsualRate = 500;
constexpr int64_t kTooDear = 5000;

class Pricing final : public shop::PricingAdjustmentService::Service {
  grpc::Status GetAdjustment(grpc::ServerContext*, const shop::AdjustmentRequest* request,
                             shop::Adjustment* response) override {
    const auto worth = percents_.find(request->code());
    if (worth == percents_.end()) return grpc::Status::OK;
    if (rate(request->cart().cart_id()) < kTooDear) response->set_percent(worth->second);
    return grpc::Status::OK;
  }

  int64_t rate(const std::string& cart) {
    grpc::ClientContext context;
    shop::set_deadline(&context, timeout_);
    shop::RateRequest request;
    request.set_cart_id(cart);
    shop::Rate response;
    return shipping_->GetRate(&context, request, &response).ok() ? response.amount() : kUsualRate;
  }

  const std::map<std::string, int> percents_{{"FIRST-TIME", 10}, {"RETURNING", 5}, {"DAILY", 1}};
  const std::chrono::milliseconds timeout_ = shop::milliseconds("SHIPPING_TIMEOUT_MS", 150);
  const std::unique_ptr<shop::ShippingService::Stub> shipping_ =
      shop::client_of<shop::ShippingService>("SHIPPING");
};

}  // namespace

int main(int argc, char** argv) {
  Pricing pricing;
  return shop::serve(&pricing, argc, argv);
}
