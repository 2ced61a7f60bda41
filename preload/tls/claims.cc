#include "preload/tls/claims.h"

#include <cstring>

#include "core/hash.h"
#include "preload/os/bounded_wait.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {
namespace {

constexpr size_t kHellos = 4096;  // a power of two; so many handshakes may be under way
constexpr size_t kTries = 8;
constexpr uint64_t kLeftWithinNs = 100'000'000;

struct Seen {
  std::atomic<uint64_t> key;  // 0: none; written last
  std::atomic<int> fd;
  std::atomic<uint64_t> serial;
};
constinit Seen g_seen[kHellos] = {};
constinit std::atomic<uint32_t> g_next{0};

uint64_t key_of(const tls::ClientRandom& random, bool server) {
  const uint64_t hash = hash_bytes(random.data(), random.size()).lo;
  return (hash & ~uint64_t{1}) | (server ? 1 : 0) | 2;
}

size_t place(uint64_t key, size_t attempt) {
  return (static_cast<size_t>(key >> 32) + attempt) & (kHellos - 1);
}

}  // namespace

void note_hello(const tls::ClientRandom& random, int fd, const Connection& c) {
  const uint64_t key = key_of(random, c.role == Role::kServer);
  size_t at = 0;
  while (at < kTries && g_seen[place(key, at)].key.load() != 0) ++at;
  if (at == kTries) at = g_next.fetch_add(1, std::memory_order_relaxed) % kTries;
  Seen& seen = g_seen[place(key, at)];
  seen.key.store(0);
  seen.fd.store(fd);
  seen.serial.store(c.serial);
  seen.key.store(key, std::memory_order_release);
}

bool find_hello(const tls::ClientRandom& random, bool server, Claim* claim) {
  const uint64_t key = key_of(random, server);
  for (size_t i = 0; i < kTries; ++i) {
    Seen& seen = g_seen[place(key, i)];
    if (seen.key.load(std::memory_order_acquire) != key) continue;
    *claim = {seen.fd.load(), seen.serial.load()};
    uint64_t expected = key;
    // It is asked for once. If another thread has written it anew meanwhile, nothing is known.
    return seen.key.compare_exchange_strong(expected, 0);
  }
  return false;
}

namespace {

// The caller owns both flows.
bool take_over(Connection& c, Transport* transport, bool server) {
  const Followed* protocol = c.protocol();
  const bool fits = c.role == Role::kJoining || (c.role == Role::kServer) == server;
  if (!c.state.is_followed() || !fits || c.transport.load() != nullptr ||
      (protocol != nullptr && !protocol->is_carrier()))
    return false;
  c.carried_known = protocol != nullptr;
  c.followed.store(nullptr, std::memory_order_release);
  for (KeptBytes& kept : c.first) kept.size = 0;
  Wire& w = c.wire;
  release_hold(w);
  w.edits.reset();
  w.accepted = w.fed = w.flushed_to = w.held_base = 0;
  w.ahead_size = 0;
  w.transport = transport;
  c.transport.store(transport, std::memory_order_release);
  return true;
}

}  // namespace

bool claim(Connection& c, Transport* transport, bool server) {
  // A thread that has sent the ClientHello, or reads, leaves within microseconds as soon as it gets a processor. Later
  // calls may come too late: a JVM tells the random only during the handshake.
  if (!wait_until([&] { return enter_requests(c); }, kLeftWithinNs)) return false;
  bool done = false;
  if (wait_until([&] { return c.response_flow.acquire(); }, kLeftWithinNs)) {
    done = take_over(c, transport, server);
    c.response_flow.release();
  }
  c.request_flow.release();
  return done;
}

}  // namespace filibuster::preload
