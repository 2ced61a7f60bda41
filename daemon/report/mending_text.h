// What would mend findings, for the terminal.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/finding.h"
#include "daemon/model/mending.h"
#include "daemon/report/causes.h"

namespace filibuster {

// "what would mend it: Catch ...\n", where `of` is "it"; "" where nothing is said.
std::string mending_line(const Mending& mending, const std::string& of, const std::string& indent);
// Of all findings of the cause, a line each. What holds for some of them only names these: "what would mend findings 1, 4 and 6: ...".
std::string mending_lines(const std::vector<Finding>& findings, const FailureCause& cause,
                          const std::string& indent);

}  // namespace filibuster
