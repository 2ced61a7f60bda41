// Sends the request of a case to the service, as it was recorded, and waits for the answer.
#pragma once

#include <chrono>
#include <cstdint>

#include "daemon/cases/difference.h"

namespace filibuster::replay {

// To 127.0.0.1, on a connection of its own. Also ends when `wake_fd` (if >= 0) is readable. The answer has `silence` where none came
// within the limit, and `ends` where the connection ended first.
cases::EntryEnd send_entry(const cases::Request& request, uint16_t port,
                           std::chrono::milliseconds limit, int wake_fd);

}  // namespace filibuster::replay
