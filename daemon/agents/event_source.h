// Who has written a record of shared memory, and what stands at its head.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster {

struct EventSource {  // the agent in whose ring an event was
  uint32_t agent = 0, pid = 0;
  std::string service;
  bool is_proxy = false;  // of an attached service, so that its pid says nothing to anybody
  std::string name() const {
    return service + (is_proxy ? " (attached)" : " (pid " + std::to_string(pid) + ")");
  }
};

struct EventHead {
  uint16_t type = 0;  // EventType, or TapeType
  uint32_t execution = 0;
  uint64_t time_ns = 0;
};

}  // namespace filibuster
