// calls_server PORT: serves calls.Calls until it is ended.
#include <grpcpp/grpcpp.h>

#include <cstdio>

#include "calls.grpc.pb.h"
#include "credentials.h"

namespace {

using calls::Number;
using grpc::ServerContext;
using grpc::Status;

class Service final : public calls::Calls::Service {
  Status Double(ServerContext*, const Number* in, Number* out) override {
    // 0 to its own method: what a server itself refuses.
    if (in->value() < 0)
      return {grpc::StatusCode::INVALID_ARGUMENT, "below zero: 50 % off\xc3\xa4"};
    out->set_value(2 * in->value());
    out->set_ballast(in->ballast());
    return Status::OK;
  }
  Status Sum(ServerContext*, grpc::ServerReader<Number>* in, Number* out) override {
    for (Number n; in->Read(&n);) out->set_value(out->value() + n.value());
    return Status::OK;
  }
  Status Count(ServerContext*, const Number* in, grpc::ServerWriter<Number>* out) override {
    Number n;
    for (int64_t i = 1; i <= in->value(); ++i) {
      n.set_value(i);
      out->Write(n);
    }
    return Status::OK;
  }
  Status Negate(ServerContext*, grpc::ServerReaderWriter<Number, Number>* stream) override {
    for (Number n; stream->Read(&n);) {
      n.set_value(-n.value());
      stream->Write(n);
    }
    return Status::OK;
  }
};

}  // namespace

int main(int, char** arguments) {
  Service service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + arguments[1], server_credentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  server->Wait();
}
