#include "preload/protocols/http2/plain_peers.h"

#include <atomic>
#include <cstddef>

#include "core/hash.h"
#include "preload/os/address.h"

namespace filibuster::preload {
namespace {

constexpr uint32_t kPeers = 128;
constexpr unsigned kPortBits = 16;
// Each entry is a hash of kind and address, with the port in its low bits. 0: free.
constinit std::atomic<uint64_t> g_peers[kPeers] = {};
constinit std::atomic<uint32_t> g_next{0};

uint64_t key_of(const sockaddr* address, socklen_t size) {
  const Target128 target = canonical_address(address, size);
  if (target.kind == TargetKind::kEmpty) return 0;
  uint8_t bytes[1 + sizeof target.address];
  bytes[0] = static_cast<uint8_t>(target.kind);
  for (size_t i = 0; i < sizeof target.address; ++i) bytes[1 + i] = target.address[i];
  return (hash_bytes(bytes, sizeof bytes).lo | 1) << kPortBits | target.port;
}

template <typename Wanted>
bool any(const Wanted& wanted) {
  for (const auto& peer : g_peers) {
    const uint64_t known = peer.load(std::memory_order_relaxed);
    if (known == 0) return false;
    if (wanted(known)) return true;
  }
  return false;
}

}  // namespace

void note_plain_peer(const sockaddr* address, socklen_t size) {
  const uint64_t key = key_of(address, size);
  if (key == 0 || any([key](uint64_t known) { return known == key; })) return;
  const uint32_t at = g_next.fetch_add(1, std::memory_order_relaxed);
  g_peers[at % kPeers].store(key, std::memory_order_relaxed);
}

bool is_plain_peer(const sockaddr* address, socklen_t size) {
  const uint64_t key = key_of(address, size);
  return key != 0 && any([key](uint64_t known) { return known == key; });
}

bool is_plain_port(uint16_t port) {
  return port != 0 && any([port](uint64_t known) { return static_cast<uint16_t>(known) == port; });
}

}  // namespace filibuster::preload
