// A request that an attached process makes, where its bytes do not tell since they are encrypted: what the proxy of the
// process tells the agent that is preloaded into it (preload/runtimes/attached/door.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster {

struct AttachedCall {
  // AttachedCall::number of bytes that belong to no request.
  static constexpr uint64_t kNoRequest = 1;

  uint64_t number = 0;      // another one than any other request has; 0: not known
  std::string_view method;  // of requests only, as what follows
  std::string_view host;    // with its port
  std::string_view target;  // as it is sent
  bool cut = false;         // the target is longer
  bool http2 = false;       // its connection carries others at the same time
  bool is_request() const { return number > kNoRequest; }
};

}  // namespace filibuster
