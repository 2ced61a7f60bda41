#include "preload/stream/holds.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "preload/os/raw_syscall.h"
#include "preload/session/agent_thread.h"
#include "preload/session/state.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {

constinit thread_local uint32_t t_holds __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constinit thread_local uint64_t t_patient_until __attribute__((tls_model("initial-exec"))) = 0;

// What this thread holds. Beyond this number, the oldest hold is flushed first.
constexpr uint32_t kMaxHolds = 8;
struct Hold {
  Connection* connection;
  uint64_t serial;
  int fd;
};
thread_local Hold t_held[kMaxHolds] __attribute__((tls_model("initial-exec")));

// --- the watcher, which sends held bytes if their thread does not ----------------------------------------------------

// The watcher looks at holds this often. Bytes that are held at two looks in a row go out if their thread
// sleeps. While the thread runs, its next call may bring the rest, so it gets this many looks.
constexpr long kLookNs = 40'000'000;
constexpr uint32_t kLooksAtRunning = 25;
// A thread sleeps if it used less processor time than this between two looks, twice in a row. A thread that
// only waits for a processor gets a turn in that time, and a thread that polls in naps uses less.
constexpr uint64_t kRunningNs = 500'000;
constexpr uint32_t kIdleLooks = 2;

struct Watch {
  std::atomic<Connection*> connection;  // nullptr: free
  uint64_t serial;
  int fd;
  uint32_t seen;          // value of Connection::holds at the last look
  uint32_t looks;         // looks since `seen` has changed
  uint32_t idle;          // looks in a row at which the thread had not run
  uint64_t processor_ns;  // processor time of the thread at the last look
};
constexpr uint32_t kWatches = 1024;
constinit Watch g_watches[kWatches] = {};
constinit std::atomic<uint32_t> g_watched{0};
constinit std::atomic<bool> g_watching{false};

// Marks a watch that is being filled in.
Connection* taken() {
  return reinterpret_cast<Connection*>(1);
}

void free_watch(Watch& w) {
  w.connection.store(nullptr, std::memory_order_release);
  g_watched.fetch_sub(1);
}

bool take_watch(Connection& c, int fd) {
  for (Watch& w : g_watches) {
    Connection* expected = nullptr;
    if (w.connection.load(std::memory_order_relaxed) != nullptr ||
        !w.connection.compare_exchange_strong(expected, taken()))
      continue;
    g_watched.fetch_add(1);
    w.serial = c.serial;
    w.fd = fd;
    w.seen = w.looks = w.idle = 0;
    w.connection.store(&c, std::memory_order_release);
    return true;
  }
  return false;
}

// The processor time of a thread of this process; 0: it has ended. Its state in /proc would tell more, but to
// open a file takes the lowest free descriptor number, on which the application may count.
uint64_t processor_ns(uint32_t thread) {
  constexpr uint32_t kScheduledTimeOfThread = 6;  // clock_getcpuclockid(3)
  const auto clock = static_cast<clockid_t>(~thread << 3 | kScheduledTimeOfThread);
  timespec t{};
  if (raw_syscall(SYS_clock_gettime, clock, &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

bool runs(Watch& w, uint32_t thread) {
  const uint64_t before = w.processor_ns;
  w.processor_ns = processor_ns(thread);
  w.idle = w.processor_ns - before < kRunningNs ? w.idle + 1 : 0;
  return w.processor_ns != 0 && w.idle < kIdleLooks;
}

// No byte was held there since the last look, so the watch ends, unless a hold comes at this moment.
void end_watch(Watch& w, Connection& c) {
  c.watched.store(false);
  if (c.holds.load() == w.seen || c.watched.exchange(true)) free_watch(w);
}

void look_at(Watch& w, Connection& c) {
  const uint32_t holds = c.holds.load();
  if (holds != w.seen) {
    w.seen = holds;
    w.looks = w.idle = 0;
    w.processor_ns = processor_ns(c.holder.load(std::memory_order_relaxed));
    return;
  }
  if (!c.holding.load()) return end_watch(w, c);
  if (++w.looks < kLooksAtRunning && runs(w, c.holder.load(std::memory_order_relaxed))) return;
  if (send_held(c, w.fd)) end_watch(w, c);
}

void watch(void*) {
  for (;;) {
    const timespec time{0, kLookNs};
    raw_syscall(SYS_nanosleep, &time, nullptr);
    for (Watch& w : g_watches) {
      Connection* c = w.connection.load(std::memory_order_acquire);
      if (c == nullptr || c == taken()) continue;
      if (!pin(c)) {
        free_watch(w);
        continue;
      }
      if (c->serial == w.serial && !c->closing.load()) {
        look_at(w, *c);
      } else {
        free_watch(w);
      }
      unpin(c);
    }
    if (g_watched.load() != 0) continue;
    g_watching.store(false);
    if (g_watched.load() == 0 || g_watching.exchange(true)) return;
  }
}

bool ensure_watching() {
  if (g_watching.load() || g_watching.exchange(true) || start_agent_thread(watch, nullptr))
    return true;
  g_watching.store(false);
  return false;
}

}  // namespace

bool watch_hold(Connection& c, int fd) {
  c.holder.store(thread_id(), std::memory_order_relaxed);
  c.holds.fetch_add(1);
  const bool was_watched = c.watched.exchange(true);
  if (!was_watched && !take_watch(c, fd)) {
    c.watched.store(false);
    return false;
  }
  return ensure_watching();  // if the thread cannot be made now, a later hold tries again
}

void flush_all_holds() {
  for (Watch& w : g_watches) {
    Connection* c = w.connection.load(std::memory_order_acquire);
    if (c == nullptr || c == taken() || !pin(c)) continue;
    if (c->serial == w.serial && !c->closing.load()) send_held(*c, w.fd);
    unpin(c);
  }
}

void forget_watches() {
  t_holds = 0;
  for (Watch& w : g_watches) w.connection.store(nullptr, std::memory_order_relaxed);
  g_watched.store(0);
  g_watching.store(false);
}

// --- the thread that holds ----------------------------------------------------------------------------

void remember_hold(Connection& c, int fd) {
  for (uint32_t i = 0; i < t_holds; ++i) {
    if (t_held[i].connection == &c && t_held[i].serial == c.serial) return;
  }
  if (t_holds == kMaxHolds) flush_holds_of_thread();
  t_held[t_holds++] = {&c, c.serial, fd};
}

void hold_patiently(int ms) {
  if (ms == 0) return;
  const uint64_t now = now_ns();
  if (t_patient_until <= now) t_patient_until = now + static_cast<uint64_t>(ms) * 1'000'000;
}

int patience_ms() {
  if (t_patient_until == 0) return 0;
  const uint64_t now = now_ns();
  if (now >= t_patient_until) return 0;
  return static_cast<int>((t_patient_until - now) / 1'000'000) + 1;
}

void flush_holds_of_thread(int but) {
  const uint32_t count = t_holds;
  t_holds = 0;
  t_patient_until = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Hold h = t_held[i];
    if (!pin(h.connection)) continue;
    if (h.connection->serial == h.serial && !h.connection->closing.load() &&
        (h.fd == but || !flush(*h.connection, h.fd))) {
      remember_hold(*h.connection, h.fd);
    }
    unpin(h.connection);
  }
}

void flush_holds_before_read(int fd) {
  if (t_holds == 0 || is_nonblocking(fd)) return;
  // A body that is read from a file needs no other thread.
  struct stat status;
  if (raw_syscall(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode)) return;
  flush_holds_of_thread();
}

}  // namespace filibuster::preload
