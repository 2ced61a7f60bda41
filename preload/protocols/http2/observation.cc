// Bytes of HTTP/2 that went by unchanged, and the end of following.
#include <algorithm>

#include "preload/protocols/http2/http2_connection.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {

using http2::Direction;

void give_up_http2(Connection& c, http2::Error error) {
  if (!c.state.is_followed()) return;
  // The first bytes looked like a preface, but the connection never spoke HTTP/2.
  if (error == http2::Error::kBadPreface) {
    give_up(c, NotInterposedReason::kUnknownProtocol);
    return;
  }
  report_note({"HTTP/2 ", c.outgoing() ? "to " : "at ", c.peer_name(),
               " is not followed any more: ", http2::describe(error)});
  give_up(c, NotInterposedReason::kHttp2);
}

namespace {

void feed_view(Http2Connection& h, Direction direction, const char* data, size_t size) {
  // The connection may be handed to a relay at any byte.
  if (direction == Direction::kResponses && h.client()) {
    h.responses.feed(
        data, size, [&](const char* piece, size_t count) { h.view.feed(direction, piece, count); });
  } else {
    h.view.feed(direction, data, size);
  }
}

}  // namespace

bool feed_http2(Connection& c, Http2Connection& h, Direction direction, Pieces pieces,
                size_t offset, size_t size) {
  if (!h.lock.acquire()) {
    report_note("the state of an HTTP/2 connection could not be had");
    give_up(c, NotInterposedReason::kHttp2);
    return false;
  }
  // gRPC writes a field in four pieces, and a message in two: put together they are read at once.
  constexpr size_t kGathered = 2048;
  if (pieces.count > 1 && size <= kGathered) {
    char bytes[kGathered];
    pieces.copy(offset, bytes, size);
    feed_view(h, direction, bytes, size);
    size = 0;
  }
  pieces.each(offset, size, [&](const char* part, size_t bytes) {
    feed_view(h, direction, part, bytes);
    return true;
  });
  const http2::Error error = h.view.error();
  h.lock.release();
  if (error != http2::Error::kNone) give_up_http2(c, error);
  return error == http2::Error::kNone;
}

namespace {

Direction direction_of(Traffic traffic) {
  return traffic == Traffic::kRequests ? Direction::kRequests : Direction::kResponses;
}

}  // namespace

void Http2Connection::observed(Connection& c, int, Traffic traffic, Pieces pieces, size_t size) {
  feed_http2(c, *this, direction_of(traffic), pieces, 0, size);
}

bool Http2Connection::unseen(Connection&, Traffic traffic, size_t size) {
  if (!lock.acquire()) return false;
  const Direction direction = direction_of(traffic);
  const bool cut = direction == Direction::kResponses && client();
  const bool known = !cut || responses.skip(size);
  const http2::Error error = view.skip_data(direction, size);
  lock.release();
  return known && error == http2::Error::kNone;
}

}  // namespace filibuster::preload
