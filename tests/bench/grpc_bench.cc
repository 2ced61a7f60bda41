// grpc_bench BURSTS BURST PAUSE_MS [apart]: unary gRPC calls of about 300 bytes, one after the other,
// from a client to a server of this process; apart: of a process of its own. Prints the median over
// the bursts of what one call takes, on the clock and of the processor (client and server together;
// apart: of each, too).
//
// The pauses let whoever reads what the processes report keep up.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

double us_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::unique_ptr<grpc::Server> start(Shipping* service, int* port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), port);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

// Until its parent is gone.
int serve(int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Shipping service;
  int port = 0;
  const auto server = start(&service, &port);
  if (server == nullptr || write(out, &port, sizeof port) != sizeof port) return 1;
  server->Wait();
  return 0;
}

// Its pid; 0: it did not start.
pid_t start_apart(const char* program, int* port) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const std::string out = std::to_string(ends[1]);
    execl(program, program, "serve", out.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  const bool told = read(ends[0], port, sizeof *port) == sizeof *port;
  close(ends[0]);
  return told ? child : 0;
}

int measure(int port, clockid_t server, int bursts, int burst, const timespec& pause) {
  const auto stub = shop::ShippingService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  const bool apart = server != CLOCK_PROCESS_CPUTIME_ID;
  shop::RateRequest request;
  request.set_cart_id(std::string(300, 'c'));
  std::vector<double> wall, here, there, both;
  for (int i = -2; i < bursts; ++i) {
    const double wall_before = us_of(CLOCK_MONOTONIC);
    const double here_before = us_of(CLOCK_PROCESS_CPUTIME_ID), there_before = us_of(server);
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
      wall.push_back((us_of(CLOCK_MONOTONIC) - wall_before) / burst);
      here.push_back((us_of(CLOCK_PROCESS_CPUTIME_ID) - here_before) / burst);
      there.push_back((us_of(server) - there_before) / burst);
      both.push_back(apart ? here.back() + there.back() : here.back());
    }
    if (pause.tv_nsec != 0) nanosleep(&pause, nullptr);
  }
  std::printf("{\"us_per_call\": %.3f, \"processor_us_per_call\": %.3f", median(wall),
              median(both));
  if (apart) {
    std::printf(", \"client_us_per_call\": %.3f, \"server_us_per_call\": %.3f", median(here),
                median(there));
  }
  std::puts("}");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0) return serve(std::atoi(argv[2]));
  const bool apart = argc == 5 && std::strcmp(argv[4], "apart") == 0;
  if (argc != 4 && !apart) {
    std::fprintf(stderr, "usage: %s BURSTS BURST PAUSE_MS [apart]\n", argv[0]);
    return 2;
  }
  const int bursts = std::atoi(argv[1]), burst = std::atoi(argv[2]);
  const timespec pause{0, std::atoi(argv[3]) * 1'000'000L};
  int port = 0;
  if (!apart) {
    Shipping service;
    const auto server = start(&service, &port);
    if (server == nullptr) return 1;
    const int result = measure(port, CLOCK_PROCESS_CPUTIME_ID, bursts, burst, pause);
    server->Shutdown();
    return result;
  }
  const pid_t child = start_apart(argv[0], &port);
  clockid_t clock = 0;
  if (child == 0 || clock_getcpuclockid(child, &clock) != 0) return 1;
  const int result = measure(port, clock, bursts, burst, pause);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return result;
}
