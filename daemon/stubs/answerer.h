// Who answers the calls that reach dependencies without a process: stubs (stub_board.h), or what was recorded.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/stubs/stub.h"

namespace filibuster::stubs {

// What a call gets in place of the whole of an answer.
enum class End : uint8_t {
  kNone,     // an answer
  kClosed,   // its connection is closed
  kReset,    // and with a reset
  kSilence,  // nothing, as long as the client waits
};

struct Reply {
  Answer answer;
  std::string grpc_message;  // the serialized answer of a gRPC call
  std::string resp;          // of Redis: the bytes of the reply in place of `answer.message`
  std::string problem;  // nobody answers: the call gets an error of its protocol with this text
  End end = End::kNone;
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  // From one thread, and at once: nobody else is answered meanwhile.
  virtual Reply reply(Call call) = 0;
  // A client of the service came, and no call of it could be read: why.
  virtual void refuse(const std::string& service, const std::string& problem) = 0;
};

}  // namespace filibuster::stubs
