// How the fault 'refused' reached a client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {

// The counts for one client: a caller, the service that it calls, and the protocol.
struct Refusals {
  std::string caller, service;
  std::string protocol;                    // "HTTP/1.1", "HTTP/2", "gRPC", "Redis"
  uint64_t refused = 0;                    // injected as a refused connect
  uint64_t reset = 0;                      // injected as a reset
  std::vector<std::string> never_refused;  // "front -> back GET /x": RPCs that got resets only
};

}  // namespace filibuster
