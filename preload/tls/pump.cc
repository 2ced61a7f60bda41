#include "preload/tls/pump.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "preload/inject/raw.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/pool.h"
#include "preload/rpc/agent.h"
#include "preload/session/agent_thread.h"

namespace filibuster::preload {
namespace {

constinit thread_local bool t_pump __attribute__((tls_model("initial-exec"))) = false;

// Of a record of TLS, and more than what its encryption adds.
constexpr size_t kBuffer = 20 * 1024;

struct Buffer {
  size_t from, to;
  char bytes[kBuffer];
  bool empty() const { return from == to; }
  void set(size_t size) {
    from = 0;
    to = size;
  }
};

struct Pump {
  Engine* engine;
  std::atomic<Pump*>* live;
  int real, plain;
  std::atomic<bool> stopping;
  bool real_ended, plain_ended;  // nothing more comes from there
  bool told_real, told_plain;    // and the other side knows
  bool failed;
  Buffer received;   // from `real`
  Buffer encrypted;  // on its way to `real`
  Buffer clear;      // on its way to `plain`
  Buffer request;    // on its way into the engine
};
Pool<Pump, 4, 1024> g_pumps;

// A library frees what it has at the end of the process, and no thread may be inside then.
constexpr size_t kMostLive = 256;
constinit std::atomic<Pump*> g_live[kMostLive] = {};
constinit std::atomic<uint32_t> g_running{0};
constinit std::atomic<bool> g_ending{false}, g_registered{false};
constexpr uint64_t kEndedWithinNs = 1'000'000'000;

std::atomic<Pump*>* enter_live(Pump* p) {
  for (std::atomic<Pump*>& live : g_live) {
    Pump* none = nullptr;
    if (live.load(std::memory_order_relaxed) == nullptr && live.compare_exchange_strong(none, p))
      return &live;
  }
  return nullptr;
}

// The thread wakes, and finds that it is to end.
void stop(Pump* p) {
  p->stopping.store(true);
  raw::shutdown(p->plain, SHUT_RDWR);
  raw::shutdown(p->real, SHUT_RD);
}

void end_all() {
  g_ending.store(true);
  for (std::atomic<Pump*>& live : g_live) {
    if (Pump* p = live.load()) stop(p);
  }
  wait_until([] { return g_running.load() == 0; }, kEndedWithinNs);
}

// Registered behind what a library has registered, so that it runs before that.
void register_end() {
  if (!g_registered.exchange(true)) std::atexit(end_all);
}

// Sends what is there. False: the descriptor takes nothing any more.
bool send_from(Buffer* b, int fd) {
  while (!b->empty()) {
    const long sent =
        raw::send(fd, b->bytes + b->from, b->to - b->from, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN) return true;
    if (sent <= 0) return false;
    b->from += static_cast<size_t>(sent);
  }
  return true;
}

// Receives into an empty buffer. False: nothing more comes.
bool receive_into(Buffer* b, int fd, bool* was_reset) {
  const long got =
      raw::call(SYS_recvfrom, fd, raw::address_of(b->bytes), sizeof b->bytes, MSG_DONTWAIT, 0, 0);
  b->set(got > 0 ? static_cast<size_t>(got) : 0);
  *was_reset = got < 0 && got != -EAGAIN && got != -EINTR;
  return got != 0 && !*was_reset;
}

// Moves what can be moved through the engine, which reads one record at a time.
void turn(Pump& p) {
  if (!p.request.empty()) {
    const ssize_t put =
        p.engine->write(p.request.bytes + p.request.from, p.request.to - p.request.from);
    if (put > 0) p.request.from += static_cast<size_t>(put);
    p.failed = p.failed || (put < 0 && put != -EAGAIN);
  }
  if (p.plain_ended && p.request.empty() && !p.told_real && !p.failed) {
    p.engine->close();
    p.told_real = true;
  }
  if (p.clear.empty() && !p.told_plain) {
    const ssize_t got = p.engine->read(p.clear.bytes, sizeof p.clear.bytes);
    p.clear.set(got > 0 ? static_cast<size_t>(got) : 0);
    if (got <= 0 && (got != -EAGAIN || p.real_ended)) {
      p.told_plain = true;
      raw::shutdown(p.plain, SHUT_WR);
    }
  }
  if (p.encrypted.empty())
    p.encrypted.set(p.engine->take(p.encrypted.bytes, sizeof p.encrypted.bytes));
}

void reset(int fd) {
  const linger now{1, 0};
  raw::set_option(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

// False: one side was reset, and so is the other.
bool receive_encrypted(Pump& p) {
  bool was_reset = false;
  p.real_ended = !receive_into(&p.received, p.real, &was_reset);
  if (!p.received.empty()) p.engine->feed(p.received.bytes, p.received.to);
  if (was_reset) reset(p.plain);
  return !was_reset;
}

bool receive_clear(Pump& p) {
  bool was_reset = false;
  p.plain_ended = !receive_into(&p.request, p.plain, &was_reset);
  if (was_reset) reset(p.real);
  return !was_reset;
}

pollfd poll_for(int fd, bool reads, bool writes) {
  const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
  return {events != 0 ? fd : -1, static_cast<short>(events), 0};
}

void pass_on(Pump& p) {
  while (!p.stopping.load(std::memory_order_relaxed)) {
    turn(p);
    const bool moved = !p.encrypted.empty() || !p.clear.empty();
    if (!send_from(&p.encrypted, p.real) || !send_from(&p.clear, p.plain)) return;
    const bool idle = p.encrypted.empty() && p.clear.empty();
    if (moved && idle) continue;
    if (idle && p.told_real) raw::shutdown(p.real, SHUT_WR);
    if (p.failed || (idle && p.told_plain && p.plain_ended) ||
        (idle && p.told_real && p.real_ended))
      return;
    // A descriptor without an event is not waited for: its end would be told at every turn.
    const bool wants_real = !p.real_ended && p.clear.empty();
    const bool wants_plain = !p.plain_ended && p.request.empty();
    pollfd fds[] = {poll_for(p.real, wants_real, !p.encrypted.empty()),
                    poll_for(p.plain, wants_plain, !p.clear.empty())};
    const long ready = raw::call(SYS_ppoll, raw::address_of(fds), 2, 0, 0);
    if (ready < 0 && ready != -EINTR) return;
    if (ready < 0) continue;
    if (wants_real && (fds[0].revents & ~POLLOUT) != 0 && !receive_encrypted(p)) return;
    if (wants_plain && (fds[1].revents & ~POLLOUT) != 0 && !receive_clear(p)) return;
  }
}

void run(void* argument) {
  t_pump = true;
  auto* p = static_cast<Pump*>(argument);
  pass_on(*p);
  Engine* const engine = p->engine;
  p->live->store(nullptr);
  release_descriptor(p->real);
  release_descriptor(p->plain);
  engine->drop(g_ending.load());
  g_pumps.give(p);
  g_running.fetch_sub(1);
}

}  // namespace

bool is_pump() {
  return t_pump;
}

bool start_pump(Engine* engine, int real, int plain) {
  Pump* p = g_pumps.take();
  if (p == nullptr) return false;
  p->engine = engine;
  p->real = real;
  p->plain = plain;
  p->stopping.store(false);
  p->real_ended = p->plain_ended = p->told_real = p->told_plain = p->failed = false;
  for (Buffer* b : {&p->received, &p->encrypted, &p->clear, &p->request}) b->set(0);
  p->live = enter_live(p);
  bool started = p->live != nullptr;
  if (started) {
    register_end();
    g_running.fetch_add(1);
    started = start_agent_thread(run, p);
    if (!started) {
      g_running.fetch_sub(1);
      p->live->store(nullptr);
    }
  }
  if (!started) g_pumps.give(p);
  return started;
}

void stop_pump(const Engine* engine) {
  for (std::atomic<Pump*>& live : g_live) {
    Pump* p = live.load();
    if (p == nullptr || p->engine != engine) continue;
    stop(p);
    wait_until([&] { return live.load() != p; }, kEndedWithinNs);
    return;
  }
}

}  // namespace filibuster::preload
