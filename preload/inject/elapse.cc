// Fast timeouts: the first visible wait on a silence is over at once.
#include <sys/time.h>

#include "preload/inject/inject.h"
#include "preload/inject/raw.h"
#include "preload/inject/replaced.h"

namespace filibuster::preload {
namespace {

bool fast_timeouts() {
  return (lane_options() & kOptionFastTimeouts) != 0;
}

const ReplacedEntry* find_silent(int fd) {
  const ReplacedEntry* entry = find_replaced(fd);
  if (entry == nullptr || !(entry->flags.load(std::memory_order_acquire) & kEntrySilent)) {
    return nullptr;
  }
  // Something to read: the hang limit has ended the silence.
  pollfd now = {fd, POLLIN, 0};
  const timespec none = {0, 0};
  if (raw::call(SYS_ppoll, raw::address_of(&now), 1, raw::address_of(&none)) > 0) return nullptr;
  return entry;
}

// After effect: waits, at most as long as the caller would, until the daemon has read the real
// answer away and shut that connection down. Else the caller would go on before the effect.
void await_effect(const ReplacedEntry& entry, int64_t limit_ms) {
  const int real = held_descriptor(entry.effect.load(std::memory_order_acquire));
  if (real < 0) return;
  pollfd hang_up = {real, 0, 0};
  const timespec limit = {static_cast<time_t>(limit_ms / 1000),
                          static_cast<long>(limit_ms % 1000) * 1000000};
  raw::call(SYS_ppoll, raw::address_of(&hang_up), 1, raw::address_of(&limit));
}

}  // namespace

bool elapse_wait(const pollfd* fds, nfds_t count, int timeout_ms) {
  if (timeout_ms <= 0 || count == 0 || g_replaced_now.load(std::memory_order_relaxed) == 0 ||
      !fast_timeouts()) {
    return false;
  }
  bool any = false;
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].fd < 0) continue;  // poll(2): ignored
    if ((fds[i].events & (POLLOUT | POLLWRNORM | POLLWRBAND)) != 0) return false;
    const ReplacedEntry* entry = find_silent(fds[i].fd);
    if (entry == nullptr) return false;
    if ((entry->flags.load(std::memory_order_relaxed) & kEntryElapsed) == 0) any = true;
  }
  if (!any) return false;
  bool first = false;
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].fd < 0) continue;
    ReplacedEntry* entry = find_replaced(fds[i].fd);
    if (entry == nullptr) return false;
    const uint32_t before = entry->flags.fetch_or(kEntryElapsed, std::memory_order_acq_rel);
    if ((before & kEntryElapsed) == 0) {
      first = true;
      await_effect(*entry, timeout_ms);
      // The server's answer was an error already, which passes in the place of a silence.
      if (find_silent(fds[i].fd) == nullptr) return false;
    }
  }
  return first;
}

namespace {

// For how long a receive from `fd` waits, in milliseconds; -1: without a limit. 0: it does not wait, or that is not known.
int64_t limit_of_receive(int fd) {
  const int flags = raw::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0) return 0;
  timeval limit = {};
  socklen_t size = sizeof limit;
  if (raw::get_option(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) < 0) return 0;
  if (limit.tv_sec == 0 && limit.tv_usec == 0) return -1;
  return static_cast<int64_t>(limit.tv_sec) * 1000 + limit.tv_usec / 1000;
}

// alarm(2), setitimer(2): their signal ends a wait.
bool has_alarm() {
  itimerval left = {};
  return raw::call(SYS_getitimer, ITIMER_REAL, raw::address_of(&left)) < 0 ||
         left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0;
}

}  // namespace

bool elapse_receive(int fd) {
  if (g_replaced_now.load(std::memory_order_relaxed) == 0 || !fast_timeouts()) return false;
  ReplacedEntry* entry = find_replaced(fd);
  if (entry == nullptr || find_silent(fd) == nullptr) return false;
  const int64_t limit_ms = limit_of_receive(fd);
  if (limit_ms <= 0) return false;
  if ((entry->flags.fetch_or(kEntryElapsed, std::memory_order_acq_rel) & kEntryElapsed) != 0) {
    return false;
  }
  await_effect(*entry, limit_ms);
  return find_silent(fd) != nullptr;
}

void begin_silence(int fd, const OpenCall& call) {
  ReplacedEntry* entry = find_replaced(fd);
  if (entry == nullptr) return;
  entry->stalled = call;
  entry->stalls.store(true, std::memory_order_release);
  entry->flags.fetch_or(kEntrySilent, std::memory_order_release);
}

void wait_without_limit(int fd) {
  if (g_replaced_now.load(std::memory_order_relaxed) == 0 || !fast_timeouts()) return;
  ReplacedEntry* entry = find_replaced(fd);
  if (entry == nullptr || !entry->stalls.load(std::memory_order_acquire) ||
      find_silent(fd) == nullptr || has_alarm())
    return;
  if (entry->stalls.exchange(false)) report_no_limit(entry->stalled);
}

void receive_without_limit(int fd) {
  if (is_replaced(fd) && limit_of_receive(fd) < 0) wait_without_limit(fd);
}

}  // namespace filibuster::preload
