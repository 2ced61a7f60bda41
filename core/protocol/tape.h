// The tape: what goes over the followed connections of one process, byte for byte. It is a ring of its own (ring.h TapeMemory), a
// sparse memfd that each agent gets with its registration, and it is written only while a recording runs (lane_memory.h). The
// bytes stand above the encryption, and a client's are as the application wrote them: our field is not among them.
//
// A record: RecordHeader with one of the types below and the time of the transfer, then the fields.
//
// The bytes of each direction of a connection have positions. A tape that is full drops records, and the positions of
// the connection whose bytes they were have a hole then. Which connection it is, is told by ConnectionSeen (events.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/protocol/draws.h"
#include "core/protocol/events.h"
#include "core/protocol/ring.h"

namespace filibuster {

enum class TapeType : uint16_t {
  kFiller = 0,
  kBytes = 1,
  kGap = 2,     // bytes went by that are not known
  kClosed = 3,  // one side of a connection has ended
  kDraw = 4,    // the program has got random bytes (draws.h)
};

struct TapeBytes {
  uint64_t connection = 0;
  uint64_t position =
      0;  // of the first byte in its direction; 0 is where the recording has begun with it
  uint32_t recording = 0;
  uint8_t requests = 0;            // 1: they go to the server
  std::span<const uint8_t> bytes;  // at most kMaxTapeBytes
};

struct TapeGap {
  uint64_t connection = 0;
  // Where the next bytes of that direction stand; the bytes before it, `size` of them, were not seen.
  uint64_t position = 0;
  uint64_t size = 0;  // 0: nothing more of the connection is recorded, in neither direction
  uint32_t recording = 0;
  uint8_t requests = 0;
  // NotInterposedReason; 0: it is not said why (a fault, a session that ended, a target that is not followed).
  uint8_t reason = 0;
};

struct TapeClosed {
  uint64_t connection = 0;
  uint64_t requests = 0, answers = 0;  // where the directions ended
  uint32_t recording = 0;
  int32_t error = 0;    // errno of the end, 0: a proper one
  uint8_t by_peer = 0;  // 0: this process has closed it
};

struct TapeDraw {
  uint64_t rpc = 0;  // the incoming request for which the program drew; 0: for none that is open
  uint32_t recording = 0;
  uint8_t source = 0;  // DrawSource
  uint16_t site_size = 0;
  std::string_view
      site;  // who drew: the innermost frames, as RpcIssued::stack_text; at most kMaxDrawSite
  std::span<const uint8_t> bytes;  // at most kMaxDrawBytes
};

inline constexpr size_t kMaxTapeBytes = 32 * 1024;
inline constexpr size_t kTapeBytesHead = 8 + 8 + 4 + 1;
inline constexpr size_t kMaxTapeRecord = kTapeBytesHead + kMaxTapeBytes;

inline constexpr size_t kTapeDrawHead = 8 + 4 + 1 + 2;

// The fields of `record` but its bytes, which follow in the tape.
void encode_head(const TapeBytes& record, uint8_t (&out)[kTapeBytesHead]);
// Here the site follows, and then the bytes.
void encode_head(const TapeDraw& record, uint8_t (&out)[kTapeDrawHead]);
// The number of bytes written into `out`, 0 if they do not fit.
size_t encode(const TapeGap& record, uint8_t* out, size_t size);
size_t encode(const TapeClosed& record, uint8_t* out, size_t size);

// False if malformed; `bytes` and `site` are views of `data`.
bool decode(std::span<const uint8_t> data, TapeBytes* out);
bool decode(std::span<const uint8_t> data, TapeDraw* out);
bool decode(std::span<const uint8_t> data, TapeGap* out);
bool decode(std::span<const uint8_t> data, TapeClosed* out);

}  // namespace filibuster
