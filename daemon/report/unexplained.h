// Executions without a conclusion, by cause: one line each, with what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

// When a planned RPC was not issued, the daemon looks for the cause and adds one of these texts to the
// reason. group_by_cause() recognises the cause by it.
inline constexpr std::string_view kOtherValues = "RPCs like it come with other values each time";
inline constexpr std::string_view kNorWithoutFault =
    "nor did it come where it had been seen, with the same faults but this one";
inline constexpr std::string_view kAfterReset =
    "the fault before it is one after which libraries make a call again by themselves";
inline constexpr std::string_view kAtConnect =
    "its fault is one of the connection, which was there already or was another call's";

struct Skipped {
  std::string what;    // "execution {users -> bookings: refused}"
  std::string reason;
  bool inconclusive = false;  // the execution ran and allows no conclusion
};

struct Unexplained {
  std::string cause;    // "state in a service"
  std::string advice;   // what to do, for a person
  std::string example;  // the first execution of the group, with its reason
  uint64_t executions = 0;
};
// Groups the inconclusive rows, in order of first appearance.
std::vector<Unexplained> group_by_cause(const std::vector<Skipped>& skipped);
// "3 executions without a conclusion, although run twice: state in a service: ..."
std::string to_line(const Unexplained& group);

}  // namespace filibuster
