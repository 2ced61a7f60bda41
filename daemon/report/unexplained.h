// Executions without a conclusion, by cause: one line each, with what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

// What is added to the reason of an execution whose planned RPC was not issued, once it was looked
// into; the cause is told by it.
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
  bool inconclusive = false;  // it ran, and allows no conclusion
};

struct Unexplained {
  std::string cause;    // "state in a service"
  std::string advice;   // what to do, for a person
  std::string example;  // the first of them, with its reason
  uint64_t executions = 0;
};
// Of those that are inconclusive, in order of first appearance.
std::vector<Unexplained> group_by_cause(const std::vector<Skipped>& skipped);
// "3 executions: state in a service. ..."
std::string to_line(const Unexplained& group);

}  // namespace filibuster
