// Is it HTTP/2? And what such a connection has besides.
#include <algorithm>
#include <cstring>
#include <new>

#include "preload/os/pool.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/http2_connection.h"
#include "preload/protocols/http2/plain_peers.h"
#include "preload/protocols/http2/retirement.h"

namespace filibuster::preload {
namespace {

// As many connections of HTTP/2 at a time as have room for a megabyte of addresses each.
Pool<Http2Connection, 1, 4096> g_http2_connections;
Pool<RewriteRoom, 1, 1024> g_rewrite_rooms;

}  // namespace

// Both directions may come here at once.
void begin_http2(Connection& c) {
  Http2Connection* memory = g_http2_connections.take();
  if (memory == nullptr) {
    give_up(c, NotInterposedReason::kTableFull);
    return;
  }
  if (c.role != Role::kServer) {
    if (c.http2_client == Http2Client::kNone) c.http2_client = Http2Client::kGraceful;
    note_plain_peer(reinterpret_cast<const sockaddr*>(&c.address), c.address_size);
  }
  const http2::Side side = c.role == Role::kServer ? http2::Side::kServer : http2::Side::kClient;
  auto* h = new (memory) Http2Connection(&c, side);
  Http2Connection* none = nullptr;
  if (!c.http2.compare_exchange_strong(none, h, std::memory_order_acq_rel)) {
    g_http2_connections.give(h);
  }
  c.protocol.store(Protocol::kHttp2, std::memory_order_release);
}

void recognize_requests(Connection& c, const iovec* pieces, size_t count, size_t offset,
                        size_t size) {
  constexpr std::string_view kPreface = http2::kClientPreface;
  size_t matched = c.preface_kept;
  size_t at = 0;  // of the piece
  for (size_t i = 0; i < count && at < size && matched < kPreface.size(); ++i) {
    const char* data = static_cast<const char*>(pieces[i].iov_base);
    const size_t end = std::min(pieces[i].iov_len, size - at);
    for (size_t k = offset > at ? offset - at : 0; k < end && matched < kPreface.size(); ++k) {
      if (data[k] != kPreface[matched]) {
        c.protocol.store(Protocol::kHttp1, std::memory_order_release);
        if (c.preface_kept == 0) return;
        c.writer.feed_base = c.writer.message_start = 0;
        c.requests.feed(kPreface.data(), c.preface_kept);
        return;
      }
      ++matched;
    }
    at += pieces[i].iov_len;
  }
  if (matched == kPreface.size()) {
    if (c.role != Role::kServer && c.preface_kept == 0 && offset == 0) {
      c.http2_client = sniff_http2_client(pieces, count, size);
    }
    // The view is fed what was kept before what came now (observe_http2, send_http2).
    begin_http2(c);
  } else {
    c.preface_kept = static_cast<uint8_t>(matched);
  }
}

void recognize_responses(Connection& c, const iovec* pieces, size_t count, size_t size) {
  char first[http2::kFrameHeaderSize];
  size_t have = c.settings_kept;
  std::memcpy(first, c.first_settings, have);
  for (size_t i = 0; i < count && size != 0 && have < sizeof first; ++i) {
    const size_t take = std::min({pieces[i].iov_len, size, sizeof first - have});
    std::memcpy(first + have, pieces[i].iov_base, take);
    have += take;
    size -= take;
  }
  // A SETTINGS frame of a sensible length, the reserved bit clear (RFC 9113 §6.5).
  for (size_t i = 0; i < have; ++i) {
    const bool of_length = i < 3;
    const auto wanted =
        static_cast<char>(i == 3 ? http2::FrameType::kSettings : http2::FrameType{});
    if (of_length ? i == 0 && first[0] != 0 : first[i] != wanted) {
      c.protocol.store(Protocol::kHttp1, std::memory_order_release);
      return;
    }
  }
  if (have == sizeof first) {
    const uint32_t length = http2::read_frame_header(first).length;
    if (length % 6 != 0 || length > http2::kDefaultMaxFrameSize) {
      c.protocol.store(Protocol::kHttp1, std::memory_order_release);
    } else {
      begin_http2(c);
    }
    return;
  }
  std::memcpy(c.first_settings, first, have);
  c.settings_kept = static_cast<uint8_t>(have);
}

void free_http2(Connection& c) {
  Http2Connection* h = c.http2.exchange(nullptr, std::memory_order_acq_rel);
  if (h == nullptr) return;
  if (h->rewrite != nullptr) g_rewrite_rooms.give(h->rewrite);
  g_http2_connections.give(h);
}

bool must_be_rewritten(const Connection& c) {
  const Http2Connection* h = c.http2.load(std::memory_order_acquire);
  return h != nullptr && h->rewriting;
}

bool begin_rewriting(Connection& c, Http2Connection& h) {
  RewriteRoom* room = g_rewrite_rooms.take();
  if (room == nullptr) return false;
  h.rewrite = room;
  h.rewriter = http2::BlockRewriter(room->block, sizeof room->block);
  c.writer.wire.use(h.edits, kMaxWireEdits, room->edits, sizeof room->edits);
  h.rewriting = true;
  return true;
}

void abandon_rewriting(Connection& c, Http2Connection& h) {
  c.writer.wire.use(h.edits, kMaxWireEdits, h.edit_bytes, sizeof h.edit_bytes);
  g_rewrite_rooms.give(h.rewrite);
  h.rewrite = nullptr;
  h.rewriting = false;
}

}  // namespace filibuster::preload
