// Connections of the attached process that lead past the proxy: their bytes are told instead of moved.
#include "core/pieces.h"
#include "preload/interpose.h"
#include "preload/runtimes/attached/door.h"
#include "preload/session/state.h"
#include "preload/stream/recognition.h"
#include "preload/stream/registry.h"

#define FILIBUSTER_DOOR(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params

FILIBUSTER_DOOR(void, filibuster_attached_watched,
                (int fd, const sockaddr* address, socklen_t size, int from_start)) {
  using namespace filibuster::preload;
  const HookScope scope;
  watched(fd, address, size, from_start != 0);
}

FILIBUSTER_DOOR(void, filibuster_attached_requests_lost, (unsigned events)) {
  using namespace filibuster::preload;
  const HookScope scope;
  if (Attachment* a = g_attachment.load(std::memory_order_acquire); a != nullptr)
    a->ring->dropped.fetch_add(events, std::memory_order_relaxed);
}

FILIBUSTER_DOOR(int, filibuster_attached_seen,
                (int fd, int requests, const char* bytes, size_t size, uint64_t when_ns)) {
  using namespace filibuster::preload;
  const HookScope scope;
  const Pinned c = find(fd);
  if (!c || c->generation != session_generation()) return 0;
  t_seen_ns = when_ns;
  const iovec piece{const_cast<char*>(bytes), size};
  const filibuster::Pieces pieces(piece);
  if (c->role == Role::kJoining && requests != 0 && bytes != nullptr)
    try_to_join(*c, fd, /*sent=*/false, pieces, size);
  if (c->role == Role::kServer) {
    const uint32_t sequence = (requests != 0 ? c->request_flow : c->response_flow).sequence();
    if (bytes != nullptr)
      observe(*c, fd, requests != 0, pieces, size, sequence);
    else
      observe_unseen(*c, requests != 0, size, sequence);
  }
  t_seen_ns = 0;
  return 1;
}
