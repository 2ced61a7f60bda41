// Executions that were not made, or allow no conclusion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/model/no_conclusion.h"

namespace filibuster {

struct Skipped {
  std::string what;  // "execution {users -> bookings: refused}"
  std::string reason;
  // Why the execution, which ran, allows no conclusion; empty: it did not run, or was concluded.
  std::optional<NoConclusion> cause = {};
};

struct Unexplained {
  std::string cause;    // "state in a service"
  std::string advice;   // what to do, for a person
  std::string example;  // the first execution of the group, with its reason
  uint64_t executions = 0;
};

}  // namespace filibuster
