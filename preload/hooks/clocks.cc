// Clocks that tell the time of day. In a replay the program is shown the time of the recording (os/shown_clock.h); otherwise a
// read costs two loads more.
//
// The original is asked first, so that libfaketime behind us counts, too. There is no HookScope: clocks are read by
// allocators and collectors of garbage, and nothing is kept here.
#include <sys/time.h>
#include <sys/timeb.h>
#include <time.h>

#include "preload/hooks/machine_clock.h"
#include "preload/hooks/shown_calls.h"
#include "preload/os/shown_clock.h"

// Under other names, since libc's declarations say that their pointers are never null, and programs pass null.
extern "C" __attribute__((visibility("default"))) int filibuster_clock_gettime(
    clockid_t clock, timespec* now) __asm__("clock_gettime");
extern "C" int filibuster_clock_gettime(clockid_t clock, timespec* now) {
  using namespace filibuster::preload;
  const int64_t offset = shown_offset_ns();
  if (__builtin_expect(offset == 0, 1) || !tells_time_of_day(clock))
    return REAL(clock_gettime)(clock, now);
  const int result = REAL(clock_gettime)(clock, now);
  if (result == 0 && now != nullptr) *now = moved(*now, offset);
  return result;
}

// Not its name with underscores, nor __clock_gettime: the libpthread of an older glibc computes by these how long it still waits.
FILIBUSTER_REAL(int, gettimeofday, (timeval*, void*))
extern "C" __attribute__((visibility("default"))) int filibuster_gettimeofday(
    timeval* now, void* zone) __asm__("gettimeofday");
extern "C" int filibuster_gettimeofday(timeval* now, void* zone) {
  using namespace filibuster::preload;
  const int64_t offset = shown_offset_ns();
  if (__builtin_expect(offset == 0, 1)) return REAL(gettimeofday)(now, zone);
  const int result = REAL(gettimeofday)(now, zone);
  if (result == 0 && now != nullptr) move_time_of_day(now, offset);
  return result;
}

FILIBUSTER_HOOK(time_t, time, (time_t * out)) {
  using namespace filibuster::preload;
  const int64_t offset = shown_offset_ns();
  if (__builtin_expect(offset == 0, 1)) return REAL(time)(out);
  return shown_time(out, offset);
}

FILIBUSTER_HOOK(int, timespec_get, (timespec * now, int base)) {
  using namespace filibuster::preload;
  const int64_t offset = shown_offset_ns();
  if (__builtin_expect(offset == 0, 1)) return REAL(timespec_get)(now, base);
  const int result = REAL(timespec_get)(now, base);
  if (result == TIME_UTC) *now = moved(*now, offset);
  return result;
}

// Its milliseconds are those of the clock: a read of that is one of this.
FILIBUSTER_HOOK(int, ftime, (timeb * out)) {
  using namespace filibuster::preload;
  const int result = REAL(ftime)(out);
  const int64_t offset = shown_offset_ns();
  if (offset == 0 || result != 0) return result;
  const timespec now = moved({out->time, out->millitm * 1'000'000L}, offset);
  out->time = now.tv_sec;
  out->millitm = static_cast<unsigned short>(now.tv_nsec / 1'000'000);
  return result;
}
