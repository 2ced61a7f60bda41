// Addresses in a configuration at which nothing listens, since the service that they mean gets another
// port.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace filibuster::cli {

// One line for each, as "file:3:7: warning: what, and what to write instead", in the order of the file.
// `config` is what was read of `text`, and is valid.
std::vector<std::string> stray_ports(const std::string& file, const std::string& text,
                                     const Config& config);

}  // namespace filibuster::cli
