// One connection to the API, while it waits for its next request and while it is answered.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/descriptors.h"

namespace filibuster {

struct Connection {
  UniqueFd socket;           // non-blocking
  std::string bytes;         // received, and no part of an answered request
  bool is_known = false;     // one of its requests had the token
  bool is_leaving = false;   // answered for the last time: what still comes is thrown away
  uint32_t answered = 0;     // requests
  uint64_t deadline_ns = 0;  // CLOCK_MONOTONIC: closed if its request has not come by then
};

}  // namespace filibuster
