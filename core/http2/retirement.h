// Retiring an HTTP/2 connection whose beginning was not parsed: its client is told by a GOAWAY to
// open another one for its next requests (RFC 9113 §6.8), and nothing of what is open on it fails.
//
// A GOAWAY may stand only between two frames of the server, and where these end is not known to one
// who joins in the middle. So the server is asked to make the gap: a PING of ours goes out between
// two frames of the client, and the PING that acknowledges it (§6.7), of 17 bytes like a GOAWAY
// without debug data, is overwritten by the GOAWAY before the client reads it. No byte more, none
// less: what the kernel says of the socket stays true.
//
// The GOAWAY names stream 2^31-1. A server that has sent a GOAWAY of its own has named a lower stream,
// and the number must not grow (§6.8): so the PING goes out with a new request, which no client makes
// after a GOAWAY. Where bytes that came since may have been a GOAWAY, the acknowledgement becomes a
// frame that everybody ignores (§5.5), and the next request brings another PING.
//
//   BoundarySearch    where the client's frames begin and end (frame_walk.h)
//   PingToGoaway      the PING, and what becomes of its acknowledgement
//   fails_on_goaway   clients that must not get one
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http2/frame.h"
#include "core/pieces.h"

namespace filibuster::http2 {

inline constexpr size_t kPingSize = kFrameHeaderSize + 8;

class PingToGoaway {
 public:
  // `opaque`: a random number, by which the acknowledgement is known.
  explicit PingToGoaway(uint64_t opaque);

  // kPingSize bytes, for the server.
  const char* ping() const { return ping_; }

  enum class Seen : uint8_t {
    kNothing,    // the client may have what it read
    kUndecided,  // what was read ends in what may be the acknowledgement: give more of `ahead`
    kGoaway,     // the acknowledgement was there, and is a GOAWAY now
    kIgnored,  // it was there, and is a frame without a meaning: the server may have sent a GOAWAY
  };
  // What the client is about to get: `size` bytes in the pieces, which are changed. `ahead`: bytes
  // that come after them. With `last`, nothing is left undecided: what is a PING with an
  // acknowledgement as far as it is known is taken for ours. Undecided bytes are given again.
  Seen pass(Pieces pieces, size_t size, std::string_view ahead, bool last);
  // As pass(), for bytes at which the client only looks, and which it will read again.
  void peek(Pieces pieces, size_t size) const;

 private:
  size_t step(size_t matched, char byte) const;
  void overwrite(Pieces pieces, size_t size, int64_t start) const;
  // Looks for the header of a GOAWAY in the next bytes of the server, up to the acknowledgement.
  void watch(Pieces pieces, size_t size);
  Seen found();

  char ping_[kPingSize];
  char ack_[kPingSize];
  uint8_t fallback_[kPingSize + 1];
  uint8_t matched_ = 0;     // bytes of the acknowledgement at the end of what was read
  bool committed_ = false;  // those bytes were overwritten, so the rest will be, too
  bool done_ = false;       // nothing is looked for any more
  bool server_leaves_ = false;
  char last_[kFrameHeaderSize] = {};  // the last bytes that watch() saw
};

// Some clients fail what is in flight at a GOAWAY, although it excludes none of their streams:
// java.net.http until JDK 23, Python's httpcore. Both send HEADER_TABLE_SIZE, MAX_CONCURRENT_STREAMS
// and MAX_FRAME_SIZE in their first SETTINGS, which others leave as they are. `first`: what a client
// sends after its preface, as far as it is at hand.
bool fails_on_goaway(std::string_view first);

}  // namespace filibuster::http2
