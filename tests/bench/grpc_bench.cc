// grpc_bench BURSTS BURST PAUSE_MS: unary gRPC calls of about 300 bytes, one after the other, from a
// client to a server of this process. Prints the median over the bursts of what one call takes, on
// the clock and of the processor (client and server together).
//
// The pauses let whoever reads what the process reports keep up.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "shop.grpc.pb.h"

namespace {

class Shipping final : public shop::ShippingService::Service {
  grpc::Status GetRate(grpc::ServerContext*, const shop::RateRequest* request,
                       shop::Rate* response) override {
    response->set_amount(static_cast<int64_t>(request->cart_id().size()));
    return grpc::Status::OK;
  }
};

double wall_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

double processor_us() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s BURSTS BURST PAUSE_MS\n", argv[0]);
    return 2;
  }
  const int bursts = std::atoi(argv[1]), burst = std::atoi(argv[2]);
  const timespec pause{0, std::atoi(argv[3]) * 1'000'000L};
  Shipping service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  const auto stub = shop::ShippingService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  shop::RateRequest request;
  request.set_cart_id(std::string(300, 'c'));
  std::vector<double> wall, processor;
  for (int i = -2; i < bursts; ++i) {
    const double wall_before = wall_us(), processor_before = processor_us();
    for (int call = 0; call < burst; ++call) {
      grpc::ClientContext context;
      shop::Rate rate;
      const grpc::Status status = stub->GetRate(&context, request, &rate);
      if (!status.ok() || rate.amount() != 300) {
        std::fprintf(stderr, "a call failed: %s\n", status.error_message().c_str());
        return 1;
      }
    }
    if (i >= 0) {  // the first two warm up
      wall.push_back((wall_us() - wall_before) / burst);
      processor.push_back((processor_us() - processor_before) / burst);
    }
    if (pause.tv_nsec != 0) nanosleep(&pause, nullptr);
  }
  std::printf("{\"us_per_call\": %.3f, \"processor_us_per_call\": %.3f}\n", median(wall),
              median(processor));
  server->Shutdown();
  return 0;
}
