// The commands that a replay would execute and that the user did not write: a counterexample carries
// the configuration of its exploration, and may come from anybody.
#pragma once

#include <string>
#include <vector>

namespace filibuster {

// The services, the test and the hooks of the configuration `sent` that `own`, the user's configuration,
// does not have just so: one text each, as JSON. Neither configuration need be valid.
std::vector<std::string> unnamed_commands(const std::string& sent, const std::string& test,
                                          const std::string& own);

}  // namespace filibuster
