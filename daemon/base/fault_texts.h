// Texts that the agents' side of the daemon and the relay say of a fault, in the same words, because
// reports and lints look for them in RpcRecord::fault_detail and in the reasons of an execution.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace filibuster {

// Stands in `RpcRecord::fault_detail` when a silence lasted until the hang limit: a finding.
inline constexpr std::string_view kCallerHasNoTimeout = "caller has no timeout";
// Begins the reason why a planned fault had no effect, where its "@3" is beyond the answer's end.
inline constexpr std::string_view kAnswerEndedAfter = "the answer ended after ";

// "(hang limit 5.0 s reached)"
inline std::string hang_limit_text(uint64_t limit_ns) {
  const uint64_t tenths = limit_ns / 100'000'000;
  return "(hang limit " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         " s reached)";
}

}  // namespace filibuster
