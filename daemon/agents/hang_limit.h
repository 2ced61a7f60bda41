// How a report names the limit that ended a silence.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster {

// "(hang limit 5.0 s reached)"
inline std::string hang_limit_text(uint64_t limit_ns) {
  const uint64_t tenths = limit_ns / 100'000'000;
  return "(hang limit " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         " s reached)";
}

}  // namespace filibuster
