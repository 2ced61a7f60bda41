// The application of which one service alone has a process.
#pragma once

#include <string>

#include "daemon/config/config.h"

namespace filibuster::replay {

// What the service calls is answered from cases, whatever the configuration says of it. There is one test, which runs nothing.
void leave_alone(const std::string& service, Config* config);

}  // namespace filibuster::replay
