// Waits: what a thread holds goes out before it waits, a wait on an injected silence may be over at
// once, and a thread that waits for several connections at a time is an event loop.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "preload/hooks/machine_clock.h"
#include "preload/inject/inject.h"
#include "preload/inject/registrations.h"
#include "preload/interpose.h"
#include "preload/runtimes/runtimes.h"
#include "preload/stream/holds.h"
#include "preload/stream/registry.h"

namespace filibuster::preload {
namespace {

// Without a session and with nothing held a wait is none of our business.
bool wait_is_plain() {
  return nothing_to_do() && t_holds == 0;
}

constexpr short kWriting = POLLOUT | POLLWRNORM | POLLWRBAND;

int milliseconds(const timespec* t) {
  if (t == nullptr) return -1;
  const int64_t ms = static_cast<int64_t>(t->tv_sec) * 1000 + (t->tv_nsec + 999'999) / 1'000'000;
  return static_cast<int>(std::min<int64_t>(ms, INT_MAX));
}

int milliseconds(const timeval* t) {
  if (t == nullptr) return -1;
  const int64_t ms = static_cast<int64_t>(t->tv_sec) * 1000 + (t->tv_usec + 999) / 1000;
  return static_cast<int>(std::min<int64_t>(ms, INT_MAX));
}

// As far as the original of a wait is concerned: a library behind us that puts another clock in the place of libc's measures
// waits by it, too.
int64_t clock_ms() {
  timespec now{};
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

timespec of_milliseconds(int ms) {
  return {ms / 1000, ms % 1000 * 1'000'000};
}

// For each descriptor of a wait. If it is an accepted connection among others, this thread is an event loop.
void note_wait_for(const pollfd& one, bool with_others, bool lasting) {
  Pinned c = find(one.fd);
  if (!c) return;
  if (c->role != Role::kServer) {
    if (lasting && (one.events & ~kWriting) != 0) note_wait(*c);
  } else if (with_others) {
    c->waits_with_others = true;
    note_multiplexing_thread();
  }
}

struct Wait {
  bool elapsed = false;
  uint32_t replacements = 0;
};

Wait before_poll(const pollfd* fds, nfds_t count, int timeout_ms) {
  Wait wait;
  HookScope scope;
  if (scope.pass_through() || !own_process()) return wait;
  const bool to_send_more = fds != nullptr && count == 1 && (fds[0].events & ~kWriting) == 0;
  // A poll that does not wait is that of a loop on its way round, which has more to write.
  if (timeout_ms != 0) flush_holds_of_thread(to_send_more ? fds[0].fd : -1);
  wait.replacements = replacements();
  if (fds == nullptr) return wait;
  for (nfds_t i = 0; i < count; ++i) note_wait_for(fds[i], count > 1, timeout_ms != 0);
  wait.elapsed = elapse_wait(fds, count, timeout_ms);
  for (nfds_t i = 0; wait.elapsed && i < count; ++i) {
    if (Pinned c = find(fds[i].fd)) c->elapsed.store(true, std::memory_order_relaxed);
  }
  const bool to_read_one = count == 1 && (fds[0].events & kWriting) == 0 && fds[0].events != 0;
  if (timeout_ms < 0 && to_read_one && is_replaced(fds[0].fd) && !waits_may_be_cut_short())
    wait_without_limit(fds[0].fd);
  return wait;
}

// Was a descriptor of the set replaced while the original waited on the old connection?
bool must_wait_again(Wait* wait, const pollfd* fds, nfds_t count) {
  const uint32_t now = replacements();
  if (now == wait->replacements) return false;
  wait->replacements = now;
  for (nfds_t i = 0; i < count; ++i) {
    if (is_replaced(fds[i].fd)) return true;
  }
  return false;
}

// `rest`: the same wait, with so many milliseconds left.
template <typename Original, typename Rest>
int poll_through(pollfd* fds, nfds_t count, int timeout_ms, const Original& original,
                 const Rest& rest) {
  if (wait_is_plain()) return original();
  Wait wait = before_poll(fds, count, timeout_ms);
  if (wait.elapsed) {
    for (nfds_t i = 0; i < count; ++i) fds[i].revents = 0;
    return 0;
  }
  const int64_t end = timeout_ms > 0 ? clock_ms() + timeout_ms : 0;
  int result = original();
  while (fds != nullptr && must_wait_again(&wait, fds, count)) {
    // It waits until the same end, not for as long again.
    result = timeout_ms > 0 ? rest(static_cast<int>(std::max<int64_t>(end - clock_ms(), 0)))
                            : original();
  }
  return result;
}

// For the questions above, a select is a poll of the descriptors in its sets.
constexpr size_t kMaxSelected = 64;  // a select of more is an event loop, and is never elapsed
struct Selected {
  pollfd fds[kMaxSelected];
  size_t count = 0;
  bool whole = true;
};

void collect(int limit, const fd_set* reading, const fd_set* writing, Selected* out) {
  for (int fd = 0; fd < std::min(limit, FD_SETSIZE); ++fd) {
    const bool reads = reading != nullptr && FD_ISSET(fd, reading);
    const bool writes = writing != nullptr && FD_ISSET(fd, writing);
    if (!reads && !writes) continue;
    if (out->count == kMaxSelected) {
      out->whole = false;
      return;
    }
    out->fds[out->count++] = {fd, static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)),
                              0};
  }
}

template <typename Original>
int select_through(int limit, fd_set* reading, fd_set* writing, fd_set* failing, int timeout_ms,
                   const Original& original) {
  if (wait_is_plain()) return original();
  Selected selected;
  collect(limit, reading, writing, &selected);
  const Wait wait = before_poll(selected.fds, selected.count, selected.whole ? timeout_ms : -1);
  if (!wait.elapsed) return original();
  for (fd_set* set : {reading, writing, failing}) {
    if (set != nullptr) {
      for (int fd = 0; fd < std::min(limit, FD_SETSIZE); ++fd) FD_CLR(fd, set);
    }
  }
  return 0;
}

void before_epoll_wait(int set, bool flushing) {
  HookScope scope;
  if (scope.pass_through() || !own_process()) return;
  if (flushing) flush_holds_of_thread();
  if (flushing) g_loop_waits.fetch_add(1, std::memory_order_relaxed);
  t_waited_set = set;
}

template <typename Original>
int epoll_through(int set, int timeout_ms, const Original& original) {
  if (wait_is_plain()) return original(timeout_ms);
  const int patience = patience_ms();
  if (patience > 0) {
    before_epoll_wait(set, false);
    const int first = timeout_ms < 0 ? patience : std::min(timeout_ms, patience);
    const int ready = original(first);
    if (ready != 0 || first == timeout_ms) return ready;
    if (timeout_ms > 0) timeout_ms -= first;
  }
  before_epoll_wait(set, timeout_ms != 0);
  return original(timeout_ms);
}

}  // namespace
}  // namespace filibuster::preload

FILIBUSTER_HOOK(int, poll, (pollfd * fds, nfds_t count, int timeout)) {
  const auto wait = [&](int ms) { return REAL(poll)(fds, count, ms); };
  return filibuster::preload::poll_through(
      fds, count, timeout, [&] { return wait(timeout); }, wait);
}

FILIBUSTER_HOOK(int, __poll_chk, (pollfd * fds, nfds_t count, int timeout, size_t room)) {
  const auto wait = [&](int ms) { return REAL(__poll_chk)(fds, count, ms, room); };
  return filibuster::preload::poll_through(
      fds, count, timeout, [&] { return wait(timeout); }, wait);
}

FILIBUSTER_HOOK(int, ppoll,
                (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask)) {
  using namespace filibuster::preload;
  return poll_through(
      fds, count, milliseconds(timeout), [&] { return REAL(ppoll)(fds, count, timeout, mask); },
      [&](int ms) {
        const timespec left = of_milliseconds(ms);
        return REAL(ppoll)(fds, count, &left, mask);
      });
}

FILIBUSTER_HOOK(int, __ppoll_chk,
                (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                 size_t room)) {
  using namespace filibuster::preload;
  return poll_through(
      fds, count, milliseconds(timeout),
      [&] { return REAL(__ppoll_chk)(fds, count, timeout, mask, room); },
      [&](int ms) {
        const timespec left = of_milliseconds(ms);
        return REAL(__ppoll_chk)(fds, count, &left, mask, room);
      });
}

FILIBUSTER_HOOK(int, select,
                (int limit, fd_set* reading, fd_set* writing, fd_set* failing, timeval* timeout)) {
  using filibuster::preload::milliseconds;
  bool waited = false;
  const int ready = filibuster::preload::select_through(
      limit, reading, writing, failing, milliseconds(timeout), [&] {
        waited = true;
        return REAL(select)(limit, reading, writing, failing, timeout);
      });
  if (!waited && timeout != nullptr) *timeout = {};  // Linux leaves the rest of the time there
  return ready;
}

FILIBUSTER_HOOK(int, pselect,
                (int limit, fd_set* reading, fd_set* writing, fd_set* failing,
                 const timespec* timeout, const sigset_t* mask)) {
  using filibuster::preload::milliseconds;
  return filibuster::preload::select_through(
      limit, reading, writing, failing, milliseconds(timeout),
      [&] { return REAL(pselect)(limit, reading, writing, failing, timeout, mask); });
}

FILIBUSTER_HOOK(int, epoll_ctl, (int set, int operation, int fd, epoll_event* event)) {
  using namespace filibuster::preload;
  if (nothing_to_do()) return REAL(epoll_ctl)(set, operation, fd, event);
  HookScope scope;
  if (scope.pass_through() || !own_process()) return REAL(epoll_ctl)(set, operation, fd, event);
  int result;
  {
    const RegistrationChange change;
    result = REAL(epoll_ctl)(set, operation, fd, event);
    scope.keep_errno();
  }
  if (result != 0 || operation == EPOLL_CTL_MOD) return result;
  Pinned c = find(fd);
  if (!c) return result;
  c->epoll_set.store(operation == EPOLL_CTL_ADD ? set : -1, std::memory_order_relaxed);
  if (operation == EPOLL_CTL_ADD) note_wait_of_loop(*c);
  return result;
}

FILIBUSTER_HOOK(int, epoll_wait, (int set, epoll_event* events, int room, int timeout)) {
  return filibuster::preload::epoll_through(
      set, timeout, [&](int ms) { return REAL(epoll_wait)(set, events, room, ms); });
}

FILIBUSTER_HOOK(int, epoll_pwait,
                (int set, epoll_event* events, int room, int timeout, const sigset_t* mask)) {
  return filibuster::preload::epoll_through(
      set, timeout, [&](int ms) { return REAL(epoll_pwait)(set, events, room, ms, mask); });
}

FILIBUSTER_HOOK(int, epoll_pwait2,
                (int set, epoll_event* events, int room, const timespec* timeout,
                 const sigset_t* mask)) {
  if (!filibuster::preload::wait_is_plain())
    filibuster::preload::before_epoll_wait(set, filibuster::preload::milliseconds(timeout) != 0);
  return REAL(epoll_pwait2)(set, events, room, timeout, mask);
}
