// calls_client PORT kinds                 one call of each kind, and one that the server refuses
// calls_client PORT threads T N [SIZE]    T threads with N calls each over one channel, with SIZE
//                                         bytes of ballast, and the value as text before
//                                         them; prints what did not succeed
// calls_client PORT silent                a call with a deadline of half a second, then another one
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "calls.grpc.pb.h"
#include "credentials.h"

namespace {

using calls::Number;
using grpc::ClientContext;
using grpc::Status;

constexpr int kSeconds = 20;  // a call that takes longer hangs

void set_deadline(ClientContext& context, std::chrono::milliseconds after) {
  context.set_deadline(std::chrono::system_clock::now() + after);
}

Number number(int64_t value) {
  Number n;
  n.set_value(value);
  return n;
}

void print(const char* what, const Status& status, const std::string& answer) {
  std::printf("%s %d [%s] %s\n", what, status.error_code(), status.error_message().c_str(),
              answer.c_str());
}

void call_every_kind(calls::Calls::Stub& stub) {
  const auto within = std::chrono::seconds(kSeconds);
  for (const int64_t value : {21, -1}) {
    ClientContext context;
    set_deadline(context, within);
    Number answer;
    const Status status = stub.Double(&context, number(value), &answer);
    print("double", status, std::to_string(answer.value()));
  }
  {
    ClientContext context;
    set_deadline(context, within);
    Number answer;
    auto writer = stub.Sum(&context, &answer);
    for (int64_t i = 1; i <= 5; ++i) writer->Write(number(i));
    writer->WritesDone();
    const Status status = writer->Finish();
    print("sum", status, std::to_string(answer.value()));
  }
  {
    ClientContext context;
    set_deadline(context, within);
    auto reader = stub.Count(&context, number(4));
    std::string all;
    for (Number n; reader->Read(&n);) all += std::to_string(n.value()) + ",";
    print("count", reader->Finish(), all);
  }
  {
    ClientContext context;
    set_deadline(context, within);
    auto stream = stub.Negate(&context);
    std::string all;
    for (int64_t i = 1; i <= 3; ++i) {
      Number n;
      if (!stream->Write(number(i)) || !stream->Read(&n)) break;
      all += std::to_string(n.value()) + ",";
    }
    stream->WritesDone();
    print("negate", stream->Finish(), all);
  }
}

void call_from_threads(calls::Calls::Stub& stub, int64_t threads, int64_t each, size_t ballast) {
  std::mutex mutex;
  std::map<int64_t, int> failed;
  int64_t good = 0, wrong = 0;
  std::vector<std::thread> running;
  for (int64_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int64_t i = 1; i <= each; ++i) {
        const int64_t value = t * each + i;
        ClientContext context;
        set_deadline(context, std::chrono::seconds(kSeconds));
        Number answer;
        Number question = number(value);
        question.set_ballast(std::to_string(value) + '|' + std::string(ballast, 'x'));
        const Status status = stub.Double(&context, question, &answer);
        const std::lock_guard lock(mutex);
        if (!status.ok()) {
          failed[value] = status.error_code();
        } else if (answer.value() == 2 * value && answer.ballast() == question.ballast()) {
          ++good;
        } else {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  std::printf("good %ld wrong %ld failed %zu\n", static_cast<long>(good), static_cast<long>(wrong),
              failed.size());
  for (const auto& [value, code] : failed) std::printf("%ld: %d\n", static_cast<long>(value), code);
}

void call_with_a_deadline(calls::Calls::Stub& stub) {
  for (const int64_t value : {1, 2}) {
    ClientContext context;
    set_deadline(context, std::chrono::milliseconds(value == 1 ? 500 : 1000 * kSeconds));
    Number answer;
    const Status status = stub.Double(&context, number(value), &answer);
    print("double", status, std::to_string(answer.value()));
  }
}

// "PORT", or "HOST:PORT" where the name is that of a certificate.
std::string address_of(const std::string& argument) {
  return argument.find(':') == std::string::npos ? "127.0.0.1:" + argument : argument;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  auto stub =
      calls::Calls::NewStub(grpc::CreateChannel(address_of(arguments[1]), channel_credentials()));
  const std::string_view mode = arguments[2];
  if (mode == "kinds") {
    call_every_kind(*stub);
  } else if (mode == "threads" && count >= 5) {
    call_from_threads(*stub, std::atol(arguments[3]), std::atol(arguments[4]),
                      count > 5 ? std::strtoul(arguments[5], nullptr, 10) : 0);
  } else if (mode == "silent") {
    call_with_a_deadline(*stub);
  } else {
    return 2;
  }
}
