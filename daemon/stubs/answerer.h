// Who answers the calls that reach dependencies without a process: stubs (stub_board.h), or what was recorded.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/stubs/stub.h"

namespace filibuster::stubs {

// What a call gets in place of the whole of an answer, or behind what there is of one.
enum class End : uint8_t {
  kNone,     // an answer
  kClosed,   // its connection is closed
  kReset,    // and with a reset
  kSilence,  // nothing, as long as the client waits
};

// A part of the body of an answer that leaves by itself.
struct Part {
  size_t size = 0;
  std::chrono::milliseconds gap{
      0};  // since the part before it has left, or the head, or what it waits for
  // Of a gRPC call: it waits until so many messages of the request are there. nullopt: for the whole of it.
  std::optional<uint64_t> after;
};

struct Reply {
  Answer answer;
  std::string grpc_message;  // the serialized answer of a gRPC call
  std::string resp;          // of Redis: the bytes of the reply in place of `answer.message`
  std::string problem;  // nobody answers: the call gets an error of its protocol with this text
  End end = End::kNone;
  // The answer to a call of gRPC is status, header fields, body and trailers, as it is of others.
  bool is_http = false;
  std::vector<std::pair<std::string, std::string>> trailers;
  std::vector<Part> parts;               // of HTTP, all of the body; empty: it leaves at once
  std::optional<uint32_t> stream_error;  // of kReset: the stream of HTTP/2 alone, with this code
  uint64_t ticket = 0;  // of one with a delay: its answerer is told when it leaves; 0: it is not
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  // From one thread, and at once: nobody else is answered meanwhile.
  virtual Reply reply(Call call) = 0;
  // The same for a call of gRPC whose request is not whole, when a message of it has come. nullopt: it is to be whole first. What is
  // answered then is answered for all of the call, if its end does not say something else.
  virtual std::optional<Reply> reply_open(const Call&) { return std::nullopt; }
  // The reply with this ticket leaves, from the same thread.
  virtual void leaves(uint64_t) {}
  // A client of the service came, and no call of it could be read: why.
  virtual void refuse(const std::string& service, const std::string& problem) = 0;
};

}  // namespace filibuster::stubs
