#include "preload/hooks/shown_calls.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "preload/hooks/machine_clock.h"
#include "preload/hooks/original_syscall.h"
#include "preload/os/shown_clock.h"

namespace filibuster::preload {
namespace {

template <typename T>
T* pointer(long argument) {
  return reinterpret_cast<T*>(argument);
}

long argument_of(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

// Does this futex operation (futex(2)) wait until a time of day? FUTEX_WAIT waits for a time.
bool waits_until_time_of_day(long operation) {
  const bool is_real = (operation & FUTEX_CLOCK_REALTIME) != 0;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
      return true;
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
#ifdef FUTEX_LOCK_PI2
    case FUTEX_LOCK_PI2:
#endif
      return is_real;
    default:
      return false;
  }
}

}  // namespace

void move_time_of_day(timeval* now, int64_t offset_ns) {
  const timespec shown = moved({now->tv_sec, now->tv_usec * 1000}, offset_ns);
  *now = {shown.tv_sec, shown.tv_nsec / 1000};
}

time_t shown_time(time_t* out, int64_t offset_ns) {
  timespec now{};
  REAL(clock_gettime)(CLOCK_REALTIME, &now);
  const time_t seconds = moved(now, offset_ns).tv_sec;
  if (out != nullptr) *out = seconds;
  return seconds;
}

long shown_system_call(int64_t offset_ns, long number, long a, long b, long c, long d, long e,
                       long f) {
  const auto call = REAL(syscall);
  const auto is_absolute = [](long flags) { return (flags & TIMER_ABSTIME) != 0; };
  switch (number) {
    case SYS_clock_gettime: {
      const long result = call(number, a, b, c, d, e, f);
      auto* now = pointer<timespec>(b);
      if (result == 0 && tells_time_of_day(static_cast<clockid_t>(a)))
        *now = moved(*now, offset_ns);
      return result;
    }
    case SYS_gettimeofday: {
      const long result = call(number, a, b, c, d, e, f);
      auto* now = pointer<timeval>(a);
      if (result == 0 && now != nullptr) move_time_of_day(now, offset_ns);
      return result;
    }
#ifdef SYS_time
    case SYS_time:
      return shown_time(pointer<time_t>(a), offset_ns);
#endif
    case SYS_clock_nanosleep: {
      if (!is_absolute(b)) break;
      const RealDeadline deadline(pointer<const timespec>(c), static_cast<clockid_t>(a));
      return call(number, a, b, argument_of(deadline.get()), d, e, f);
    }
    case SYS_timer_settime:
    case SYS_timerfd_settime: {
      static_assert(TFD_TIMER_ABSTIME == TIMER_ABSTIME);
      const RealTimerDeadline deadline(pointer<const itimerspec>(c), is_absolute(b));
      return call(number, a, b, argument_of(deadline.get()), d, e, f);
    }
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive: {
      const RealDeadline deadline(pointer<const timespec>(e));
      return call(number, a, b, c, d, argument_of(deadline.get()), f);
    }
    case SYS_futex: {
      if (!waits_until_time_of_day(b)) break;
      const RealDeadline deadline(pointer<const timespec>(d));
      return call(number, a, b, c, argument_of(deadline.get()), e, f);
    }
#ifdef SYS_futex_waitv
    case SYS_futex_waitv: {
      const RealDeadline deadline(pointer<const timespec>(d), static_cast<clockid_t>(e));
      return call(number, a, b, c, argument_of(deadline.get()), e, f);
    }
#endif
    default:
      break;
  }
  return call(number, a, b, c, d, e, f);
}

}  // namespace filibuster::preload
