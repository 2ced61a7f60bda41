// front PORT BACK: serves calls.Calls; Double asks BACK for it, over one channel that lives as long as
// the process. Count(1) opens a stream to BACK on which a message goes to and fro every few
// milliseconds, and begins threads that call without a pause; Count(2) ends the threads; any Count
// answers how they fared: calls, messages, failures.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "calls.grpc.pb.h"

namespace {

using calls::Number;
using grpc::Status;

constexpr auto kLimit = std::chrono::seconds(10);

class Front final : public calls::Calls::Service {
 public:
  explicit Front(const std::string& back)
      : stub_(calls::Calls::NewStub(
            grpc::CreateChannel("127.0.0.1:" + back, grpc::InsecureChannelCredentials()))) {}

  Status Double(grpc::ServerContext*, const Number* in, Number* out) override {
    return ask(*in, out);
  }

  Status Count(grpc::ServerContext*, const Number* in,
               grpc::ServerWriter<Number>* writer) override {
    if (in->value() == 1) {
      std::thread([this] { keep_stream(); }).detach();
      for (int i = 0; i < 2; ++i) std::thread([this] { keep_calling(); }).detach();
    } else if (in->value() == 2) {
      stopped_ = true;
    }
    Number n;
    for (const int64_t value : {calls_.load(), messages_.load(), failed_.load()}) {
      n.set_value(value);
      writer->Write(n);
    }
    return Status::OK;
  }

 private:
  Status ask(const Number& in, Number* out) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLimit);
    return stub_->Double(&context, in, out);
  }

  void keep_calling() {
    Number question, answer;
    for (int64_t i = 1; !stopped_; ++i) {
      question.set_value(i);
      const bool good = ask(question, &answer).ok() && answer.value() == 2 * i;
      (good ? calls_ : failed_) += 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void keep_stream() {
    grpc::ClientContext context;
    auto stream = stub_->Negate(&context);
    Number n;
    for (int64_t i = 1;; ++i) {
      n.set_value(i);
      if (!stream->Write(n) || !stream->Read(&n) || n.value() != -i) break;
      messages_ += 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    failed_ += 1;
  }

  const std::unique_ptr<calls::Calls::Stub> stub_;
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> calls_{0}, messages_{0}, failed_{0};
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  Front front(arguments[2]);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + arguments[1],
                           grpc::InsecureServerCredentials());
  builder.RegisterService(&front);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  server->Wait();
}
