// What is found in sources of gRPC services, one fixture for each language.
#include <gtest/gtest.h>

#include "tests/unit/analysis/fixture.h"

namespace filibuster::analysis {
namespace {

const std::vector<GrpcMethod> kMethods = {{"shop.CartService", "GetCart"},
                                          {"shop.CartService", "PutCart"},
                                          {"shop.UserService", "GetUser"}};

TEST(GrpcPython, AStatusIsThatOfTheMethodAroundIt) {
  const Text file{"cart.py", R"x(class Cart(shop_pb2_grpc.CartServiceServicer):
    def GetCart(self, request, context):
        if error.code() == grpc.StatusCode.ABORTED: pass
        context.abort(grpc.StatusCode.NOT_FOUND, "no cart")
    def helper(self, context):
        context.set_code(grpc.StatusCode.RESOURCE_EXHAUSTED)
    def GetUser(self, request, context):
        pass
)x"};
  const Scan found = scan({file}, kMethods);
  EXPECT_EQ(lines(found), (Lines{"grpc:NOT_FOUND cart.py:4 shop.CartService/GetCart",
                                 "grpc:RESOURCE_EXHAUSTED cart.py:6"}));
  EXPECT_EQ(found.services, Lines{"CartService"});
  // Without the .proto file: of any package.
  EXPECT_EQ(lines(scan({file}))[0], "grpc:NOT_FOUND cart.py:4 CartService/GetCart");
}

TEST(GrpcCpp, StatusesThatAreReturned) {
  const Scan found = scan({{"cart.cc", R"x(class Cart final : public shop::CartService::Service {
  grpc::Status GetCart(grpc::ServerContext*, const shop::Request* r, shop::Cart* c) override {
    if (status.error_code() == grpc::StatusCode::ABORTED) return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, "x"};
  }
  grpc::Status other() { return Status(StatusCode::DATA_LOSS, "x"); }
};
grpc::ServerBuilder builder;
)x"}},
                          kMethods);
  EXPECT_EQ(lines(found), (Lines{"grpc:NOT_FOUND cart.cc:4 shop.CartService/GetCart",
                                 "grpc:DATA_LOSS cart.cc:6"}));
  EXPECT_EQ(found.frameworks, Lines{"gRPC (cart.cc:8)"});
  EXPECT_EQ(found.evidence[2].answer, (Answer{true, 15}));
}

TEST(GrpcJava, StatusesThatAreThrown) {
  EXPECT_EQ(lines(scan({{"Cart.java", R"x(import io.grpc.Status;
class Cart extends CartServiceGrpc.CartServiceImplBase {
  @Override public void getCart(Request r, StreamObserver<Reply> o) {
    if (e.getStatus().getCode() == Status.Code.ABORTED) return;
    o.onError(Status.NOT_FOUND.withDescription("x").asRuntimeException());
    if (Status.INTERNAL.getCode().equals(c)) return;
  }
}
)x"}},
                       kMethods)),
            (Lines{"grpc:NOT_FOUND Cart.java:5 shop.CartService/GetCart"}));
}

TEST(GrpcGo, StatusesThatAreReturned) {
  EXPECT_EQ(lines(scan({{"cart.go", R"x(package main
type server struct { pb.UnimplementedCartServiceServer }
func (s *server) PutCart(ctx context.Context, r *pb.R) (*pb.A, error) {
  if status.Code(err) == codes.Aborted { return nil, err }
  switch status.Code(err) { case codes.OK, codes.Internal: }
  return nil, status.Errorf(codes.FailedPrecondition, "x")
}
)x"}},
                       kMethods)),
            (Lines{"grpc:FAILED_PRECONDITION cart.go:6 shop.CartService/PutCart"}));
}

TEST(GrpcNode, StatusesThatAreCalledBack) {
  EXPECT_EQ(lines(scan({{"cart.js", R"x(const grpc = require('@grpc/grpc-js');
function getCart(call, callback) {
  if (e.code === grpc.status.ABORTED) return;
  callback({ code: grpc.status.NOT_FOUND, details: "x" });
}
server.addService(shop.CartService.service, { getCart });
)x"}},
                       kMethods)),
            (Lines{"grpc:NOT_FOUND cart.js:4 shop.CartService/GetCart"}));
}

}  // namespace
}  // namespace filibuster::analysis
