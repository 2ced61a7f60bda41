// Executions without a conclusion, by cause: one line each, with what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/no_conclusion.h"
#include "daemon/model/skipped.h"

namespace filibuster {

// What the comparison of executions has shown of a planned RPC that was not issued, as a part of the
// reason: "RPCs like it were issued, with other values each time". "": it has shown nothing.
std::string_view what_was_seen(NoConclusion cause);

// Groups the inconclusive rows, in order of first appearance.
std::vector<Unexplained> group_by_cause(const std::vector<Skipped>& skipped);
// "3 executions without a conclusion, although run twice: state in a service: ..."
std::string to_line(const Unexplained& group);

}  // namespace filibuster
