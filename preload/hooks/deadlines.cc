// Waits until a time of day. In a replay the program counts in the time that it is shown, and the original gets the same moment
// as the machine counts it (os/shown_clock.h). Waits for a time, and deadlines of other clocks, are left alone.
//
// A deadline is moved when the wait begins: one that begins in one case and lasts into the next ends when it would have.
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>

#include <cerrno>

#include "preload/interpose.h"
#include "preload/os/shown_clock.h"

using filibuster::preload::RealDeadline;
using filibuster::preload::RealTimerDeadline;

FILIBUSTER_HOOK(int, pthread_cond_timedwait,
                (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until)) {
  return REAL(pthread_cond_timedwait)(condition, mutex, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, pthread_cond_clockwait,
                (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock,
                 const timespec* until)) {
  const auto original = REAL(pthread_cond_clockwait);
  return original == nullptr ? ENOSYS
                             : original(condition, mutex, clock, RealDeadline(until, clock).get());
}

FILIBUSTER_HOOK(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec* until)) {
  return REAL(pthread_mutex_timedlock)(mutex, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, pthread_mutex_clocklock,
                (pthread_mutex_t * mutex, clockid_t clock, const timespec* until)) {
  const auto original = REAL(pthread_mutex_clocklock);
  return original == nullptr ? ENOSYS : original(mutex, clock, RealDeadline(until, clock).get());
}

#define FILIBUSTER_RWLOCK(timed, clocked)                                                          \
  FILIBUSTER_HOOK(int, timed, (pthread_rwlock_t * lock, const timespec* until)) {                  \
    return REAL(timed)(lock, RealDeadline(until).get());                                           \
  }                                                                                                \
  FILIBUSTER_HOOK(int, clocked,                                                                    \
                  (pthread_rwlock_t * lock, clockid_t clock, const timespec* until)) {             \
    const auto original = REAL(clocked);                                                           \
    return original == nullptr ? ENOSYS : original(lock, clock, RealDeadline(until, clock).get()); \
  }
FILIBUSTER_RWLOCK(pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock)
FILIBUSTER_RWLOCK(pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock)
#undef FILIBUSTER_RWLOCK

FILIBUSTER_HOOK(int, pthread_timedjoin_np,
                (pthread_t thread, void** result, const timespec* until)) {
  return REAL(pthread_timedjoin_np)(thread, result, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, pthread_clockjoin_np,
                (pthread_t thread, void** result, clockid_t clock, const timespec* until)) {
  const auto original = REAL(pthread_clockjoin_np);
  return original == nullptr ? ENOSYS
                             : original(thread, result, clock, RealDeadline(until, clock).get());
}

FILIBUSTER_HOOK(int, sem_timedwait, (sem_t * semaphore, const timespec* until)) {
  return REAL(sem_timedwait)(semaphore, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* until)) {
  const auto original = REAL(sem_clockwait);
  if (original != nullptr) return original(semaphore, clock, RealDeadline(until, clock).get());
  errno = ENOSYS;
  return -1;
}

FILIBUSTER_HOOK(int, cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until)) {
  const auto original = REAL(cnd_timedwait);
  return original == nullptr ? static_cast<int>(thrd_error)
                             : original(condition, mutex, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, mtx_timedlock, (mtx_t * mutex, const timespec* until)) {
  const auto original = REAL(mtx_timedlock);
  return original == nullptr ? static_cast<int>(thrd_error)
                             : original(mutex, RealDeadline(until).get());
}

FILIBUSTER_HOOK(int, clock_nanosleep,
                (clockid_t clock, int flags, const timespec* time, timespec* left)) {
  if ((flags & TIMER_ABSTIME) == 0) return REAL(clock_nanosleep)(clock, flags, time, left);
  return REAL(clock_nanosleep)(clock, flags, RealDeadline(time, clock).get(), left);
}

FILIBUSTER_HOOK(int, timer_settime,
                (timer_t timer, int flags, const itimerspec* time, itimerspec* before)) {
  const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
  return REAL(timer_settime)(timer, flags, RealTimerDeadline(time, is_absolute).get(), before);
}

FILIBUSTER_HOOK(int, timerfd_settime,
                (int fd, int flags, const itimerspec* time, itimerspec* before)) {
  const bool is_absolute = (flags & TFD_TIMER_ABSTIME) != 0;
  return REAL(timerfd_settime)(fd, flags, RealTimerDeadline(time, is_absolute).get(), before);
}

FILIBUSTER_HOOK(int, mq_timedsend,
                (mqd_t queue, const char* data, size_t size, unsigned priority,
                 const timespec* until)) {
  return REAL(mq_timedsend)(queue, data, size, priority, RealDeadline(until).get());
}

FILIBUSTER_HOOK(ssize_t, mq_timedreceive,
                (mqd_t queue, char* data, size_t size, unsigned* priority, const timespec* until)) {
  return REAL(mq_timedreceive)(queue, data, size, priority, RealDeadline(until).get());
}
