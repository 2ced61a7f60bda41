// What the C++ services of this application share: settings from the environment, a server on a
// port, clients with a deadline, and Redis.
#pragma once

#include <grpcpp/grpcpp.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shop {

inline std::string setting(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

inline std::chrono::milliseconds milliseconds(const char* name, int otherwise) {
  return std::chrono::milliseconds(std::stoi(setting(name, std::to_string(otherwise))));
}

// "A,B" -> {"A", "B"}
inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t from = 0; from < text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

// The service whose address is in the variable `name`.
template <typename Service>
std::unique_ptr<typename Service::Stub> client_of(const char* name) {
  return Service::NewStub(
      grpc::CreateChannel(setting(name, ""), grpc::InsecureChannelCredentials()));
}

inline void set_deadline(grpc::ClientContext* context, std::chrono::milliseconds after) {
  context->set_deadline(std::chrono::system_clock::now() + after);
}

inline int serve(grpc::Service* service, int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " PORT\n";
    return 2;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::string(argv[1]), grpc::InsecureServerCredentials());
  builder.RegisterService(service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << argv[0] << ": cannot listen on port " << argv[1] << "\n";
    return 1;
  }
  server->Wait();
  return 0;
}

// A connection to the store. Throws std::runtime_error.
class Redis {
 public:
  Redis() {
    const std::string address = setting("REDIS", "127.0.0.1:6379");
    const size_t colon = address.rfind(':');
    context_.reset(
        redisConnect(address.substr(0, colon).c_str(), std::stoi(address.substr(colon + 1))));
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no store");
  }

  // One command, its arguments as they are. Nothing is read of the reply.
  void run(const std::vector<std::string>& arguments) {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& argument : arguments) {
      texts.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    const std::unique_ptr<void, void (*)(void*)> reply(
        redisCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(),
                         sizes.data()),
        freeReplyObject);
    if (reply == nullptr ||
        static_cast<const redisReply*>(reply.get())->type == REDIS_REPLY_ERROR) {
      throw std::runtime_error("the store refused " + arguments[0]);
    }
  }

 private:
  struct Close {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  std::unique_ptr<redisContext, Close> context_;
};

}  // namespace shop
