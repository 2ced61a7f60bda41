// A connection to the service that is replayed: everything waits until the same moment, or until somebody wakes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/descriptors.h"

namespace filibuster::replay {

class EntrySocket {
 public:
  // Also ends when `wake_fd` (if >= 0) is readable.
  EntrySocket(std::chrono::milliseconds limit, int wake_fd);

  // To 127.0.0.1. Both return why not, or "". A service may answer before it has read all, and close: of what was sent in part nothing
  // is said.
  std::string connect(uint16_t port);
  std::string send(std::string_view bytes);

  enum class Got : uint8_t { kBytes, kEnd, kReset, kNothing };
  Got receive(std::string* bytes);

 private:
  bool wait_for(short events) const;

  const int wake_fd_;
  const std::chrono::steady_clock::time_point end_;
  UniqueFd socket_;
};

// Of steady_clock.
uint64_t steady_ns();

}  // namespace filibuster::replay
