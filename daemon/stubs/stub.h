// Stubs: what a dependency without a process answers, and to which calls. A service with stubs has no command; the daemon
// listens in its place (stub_server.h), so that execution indexes form as if the service were real.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/grpc/call.h"

namespace filibuster::stubs {

enum class Kind : uint8_t { kHttp, kGrpc, kRedis };

struct Answer {
  // HTTP.
  uint16_t status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // beside those that the body needs
  std::string body;                                          // bytes
  // gRPC. `message` is the answer as JSON (null: an empty message), and stands for nothing where the code is not OK.
  grpc::Code code = grpc::Code::kOk;
  std::string status_message;
  // Redis: a text is a bulk string, a number an integer, null the null bulk string, an array one of these,
  // {"status": "OK"} a simple string, {"error": "ERR no"} an error.
  nlohmann::json message;  // gRPC and Redis
  // From the end of the request to the answer.
  std::chrono::milliseconds delay{0};
};

// Which calls a stub answers. Empty members match anything.
struct Stub {
  std::string name;          // "stub 2 of 'users' (filibuster.json:14)": for messages
  int line = 0, column = 0;  // in the configuration; 0: it is of a test's statement
  Kind kind = Kind::kHttp;
  std::string method;  // HTTP: "GET". Redis: the name of the command, in capital letters
  // HTTP: a glob ('*') over the path of the request, or over path and query where the stub's has a '?'. gRPC: a name as
  // in grpc_name.h. Redis: a glob over the first argument.
  std::string path;
  // Arguments: the whole request, as JSON where it is JSON (gRPC: its message; Redis: an array of the arguments
  // without the name), else a text. `whole`: it is to be equal. `fields`: JSON pointers and what they point at.
  bool has_whole = false;
  nlohmann::json whole;
  std::vector<std::pair<std::string, nlohmann::json>> fields;
  std::vector<Answer>
      answers;  // one after the other, the last one for all further calls; never empty
};

// A call that reached a dependency without a process.
struct Call {
  std::string service;
  Kind kind = Kind::kHttp;
  std::string method,
      path;          // as in Stub; HTTP: the path with its query; gRPC: "/shop.CartService/GetCart"
  std::string body;  // bytes of the request; gRPC: the first message with its prefix
  // As in Stub::whole; a text where it is not JSON, null where there are none. Of a transaction of Redis (MULTI) its commands, an array of
  // words each.
  nlohmann::json arguments;
  std::string problem;  // why `arguments` could not be read, else ""
  std::string field;    // the value of our request field; "": it carried none
  std::vector<std::pair<std::string, std::string>>
      headers;               // of HTTP, without that field, as they came
  uint16_t client_port = 0;  // of the client's end of the connection
  // On its connection: the how many-th from 0; of HTTP/2 the stream, and of a transaction of Redis its MULTI.
  uint64_t number = 0;
};

// "GET /users/7", "shop.CartService/GetCart", "GET user:7"
std::string to_text(const Call& call);

}  // namespace filibuster::stubs
