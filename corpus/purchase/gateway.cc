// The API gateway: passes a purchase on to the order service, and its error back to the consumer.
#include "corpus/purchase/service.h"
#include "shop.grpc.pb.h"

namespace {

class Gateway final : public shop::ApiGateway::Service {
  grpc::Status MakePurchase(grpc::ServerContext*, const shop::PurchaseRequest* request,
                            shop::PurchaseResponse* response) override {
    grpc::ClientContext context;
    shop::set_deadline(&context, std::chrono::seconds(4));
    const grpc::Status status = orders_->PlaceOrder(&context, *request, response);
    if (status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE) return status;
    return {grpc::StatusCode::UNAVAILABLE, "the purchase could not be completed, try again"};
  }

  const std::unique_ptr<shop::OrderService::Stub> orders_ =
      shop::client_of<shop::OrderService>("ORDERS");
};

}  // namespace

int main(int argc, char** argv) {
  Gateway gateway;
  return shop::serve(&gateway, argc, argv);
}
