// How an execution ended.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster {

// The store keeps the numbers: a new one comes last.
enum class Verdict : uint8_t {
  kPassed,
  kFailed,        // the test failed under the faults
  kCrashed,       // a service ended by a signal or exited under the faults
  kTestTimeout,   // the test did not end within its limit
  kPlanNotMet,    // a planned fault did not fire, so the execution allows no conclusion
  kIncomplete,    // events were lost
  kNotQuiescent,  // passed, but RPCs stayed open beyond quiesce_timeout
  kNoTimeout,     // passed, but a caller waited for an answer until hang_limit
  kDoneTwice,     // passed, although the server did twice what it must do once
};
inline constexpr Verdict kLastVerdict = Verdict::kDoneTwice;
std::string_view verdict_name(Verdict verdict);
// True for the verdicts that are findings for the user (kFailed, kCrashed, kTestTimeout,
// kNoTimeout, kDoneTwice).
bool is_failure(Verdict verdict);

}  // namespace filibuster
