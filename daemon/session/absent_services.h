// Services that somebody else was to start, and that are not up: why tests fail without any fault.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace filibuster {

// "nothing listens at 127.0.0.1:8080 (service bank, which somebody else starts)", for each fixed port.
std::vector<std::string> absent_services(const Config& config);

}  // namespace filibuster
