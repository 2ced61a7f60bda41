// Finds the sources of the services of a draft, and of its test, and the environment variables that
// they read.
#pragma once

#include <string>
#include <vector>

#include "cli/init/draft.h"
#include "cli/init/wiring.h"

namespace filibuster::cli {

// `folder` is that of the configuration; "": the current one. A remark says where sources are left out
// because there are too many.
std::vector<init::Reader> variable_reads(const std::string& folder, init::Draft* draft);

}  // namespace filibuster::cli
