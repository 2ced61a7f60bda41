// What a program is shown of system calls that tell the time of day, or that wait until one, where a replay runs.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <cstdint>

namespace filibuster::preload {

// `offset_ns`: what is added to the time of day. It has whole microseconds, so that all of the clocks tell the same time.
void move_time_of_day(timeval* now, int64_t offset_ns);
// time() and SYS_time; `out` may be null.
time_t shown_time(time_t* out, int64_t offset_ns);

// syscall(): the call `number` is made with its deadline as the machine counts it, and what it tells is moved.
long shown_system_call(int64_t offset_ns, long number, long a, long b, long c, long d, long e,
                       long f);

}  // namespace filibuster::preload
