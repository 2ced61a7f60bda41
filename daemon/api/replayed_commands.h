// Whose commands a replay executes: a counterexample carries the configuration of its exploration,
// and may come from anybody.
#pragma once

#include <string>
#include <vector>

namespace filibuster {

// Of the configuration `sent`: the services, the test and the hooks that are not the same in `own`,
// the user's, one text each, as JSON. Neither need be valid.
std::vector<std::string> unnamed_commands(const std::string& sent, const std::string& test,
                                          const std::string& own);

}  // namespace filibuster
