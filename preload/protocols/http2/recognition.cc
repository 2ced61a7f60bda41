// Tells whether a connection speaks HTTP/2, and makes the state of one that does.
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

// One block for each connection, since each takes a megabyte of addresses.
Pool<Http2Connection, 1, 4096> g_http2_connections;
Pool<RewriteRoom, 1, 1024> g_rewrite_rooms;

}  // namespace

Http2Connection* make_http2(Connection& c, Http2Client kind) {
  Http2Connection* memory = g_http2_connections.take();
  if (memory == nullptr) {
    give_up(c, NotInterposedReason::kTableFull);
    return nullptr;
  }
  const http2::Side side = c.role == Role::kServer ? http2::Side::kServer : http2::Side::kClient;
  if (c.role != Role::kServer) {
    if (kind != Http2Client::kNone) {
      c.noted = note_of(kind);
    } else if (c.noted == Noted::kNothing) {
      c.noted = note_of(Http2Client::kGraceful);
    }
    if (c.transport.load() == nullptr)
      note_plain_peer(reinterpret_cast<const sockaddr*>(&c.address), c.address_size);
  }
  return new (memory) Http2Connection(&c, side);
}

void begin_http2(Connection& c, Pieces pieces, size_t size) {
  const bool of_client = c.role != Role::kServer && pieces.count != 0;
  Http2Connection* h =
      make_http2(c, of_client ? sniff_http2_client(pieces, size) : Http2Client::kNone);
  // The threads of both directions may be here at the same time.
  if (h != nullptr && !publish(c, h)) g_http2_connections.give(h);
}

Recognised is_http2_of_client(std::string_view first) {
  constexpr std::string_view kPreface = http2::kClientPreface;
  if (first.starts_with(kPreface)) return Recognised::kYes;
  return kPreface.starts_with(first) ? Recognised::kNeedMore : Recognised::kNo;
}

Recognised is_http2_of_server(std::string_view first) {
  // Asks for a SETTINGS frame of a sensible length with the reserved bit clear (RFC 9113 §6.5).
  const std::string_view header = first.substr(0, http2::kFrameHeaderSize);
  for (size_t i = 0; i < header.size(); ++i) {
    const bool of_length = i < 3;
    const auto wanted =
        static_cast<char>(i == 3 ? http2::FrameType::kSettings : http2::FrameType{});
    if (of_length ? i == 0 && header[0] != 0 : header[i] != wanted) return Recognised::kNo;
  }
  if (header.size() < http2::kFrameHeaderSize) return Recognised::kNeedMore;
  const uint32_t length = http2::read_frame_header(header.data()).length;
  return length % 6 != 0 || length > http2::kDefaultMaxFrameSize ? Recognised::kNo
                                                                 : Recognised::kYes;
}

void Http2Connection::free(Connection&) {
  if (rewrite != nullptr) g_rewrite_rooms.give(rewrite);
  g_http2_connections.give(this);
}

bool begin_rewriting(Connection& c, Http2Connection& h) {
  RewriteRoom* room = g_rewrite_rooms.take();
  if (room == nullptr) return false;
  h.rewrite = room;
  h.rewriter = http2::BlockRewriter(room->block, sizeof room->block);
  c.wire.edits.use(h.edits, kMaxWireEdits, room->edits, sizeof room->edits);
  h.rewriting = true;
  return true;
}

void abandon_rewriting(Connection& c, Http2Connection& h) {
  c.wire.edits.use(h.edits, kMaxWireEdits, h.edit_bytes, sizeof h.edit_bytes);
  g_rewrite_rooms.give(h.rewrite);
  h.rewrite = nullptr;
  h.rewriting = false;
}

}  // namespace filibuster::preload
