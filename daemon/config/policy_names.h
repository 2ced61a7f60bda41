// The policies of retry-aware testing that are built in (daemon/retries/policies.h). No policy of a configuration has such a
// name.
#pragma once

#include <string_view>

namespace filibuster {

// In the order in which they are tried at a call site.
constexpr std::string_view kBuiltInPolicies[] = {"P1-reset", "P1", "P2-reset", "P2", "P3", "P4"};

}  // namespace filibuster
