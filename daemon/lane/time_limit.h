// How long a test may take.
#pragma once

#include <chrono>

#include "daemon/model/execution_record.h"

namespace filibuster {

struct TimeLimit {
  std::chrono::milliseconds time{0};
  // While calls come, a test may take so long: a client that was told to come again waits before each attempt, often twice as long
  // as before the last one. Not above `time`: it may not.
  std::chrono::milliseconds while_calls_come{0};
};

// What a test of which `taken` is over may take further: until no call has begun or ended for `limit.time`, or for three times the
// longest pause between its calls. `now_ns`: CLOCK_MONOTONIC. 0: its time is over.
std::chrono::milliseconds more_time(const TimeLimit& limit, std::chrono::milliseconds taken,
                                    const ExecutionRecord& record, uint64_t now_ns);

}  // namespace filibuster
