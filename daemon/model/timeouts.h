// How injected silences ended, of one client.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster {

struct Timeouts {
  std::string caller, service;
  uint64_t ended_at_once = 0;
  uint64_t waited = 0;      // silences that really lasted
  uint64_t hang_limit = 0;  // how many of `waited` lasted until the hang limit
  double longest = 0;       // seconds that the longest of `waited` lasted
};

}  // namespace filibuster
