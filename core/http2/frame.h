// The words of HTTP/2 (RFC 9113): frame types, flags, settings, limits, and the named reasons for
// which a connection is not followed any more. Shared by everything in this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::http2 {

// Which way the bytes go: requests from the client, responses from the server.
enum class Direction : uint8_t { kRequests, kResponses };
inline constexpr Direction opposite(Direction d) {
  return d == Direction::kRequests ? Direction::kResponses : Direction::kRequests;
}

// RFC 9113 §3.4
inline constexpr std::string_view kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 9113 §6
enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
  // others: skipped (§5.5)
};

inline constexpr uint8_t kFlagAck = 0x1;        // SETTINGS, PING
inline constexpr uint8_t kFlagEndStream = 0x1;  // DATA, HEADERS
inline constexpr uint8_t kFlagEndHeaders = 0x4;
inline constexpr uint8_t kFlagPadded = 0x8;
inline constexpr uint8_t kFlagPriority = 0x20;

inline constexpr size_t kFrameHeaderSize = 9;
inline constexpr size_t kPriorityFieldSize = 5;             // in HEADERS, §6.2
inline constexpr uint32_t kDefaultMaxFrameSize = 1u << 14;  // also the smallest, §6.5.2
inline constexpr uint32_t kLargestMaxFrameSize = (1u << 24) - 1;
inline constexpr uint32_t kDefaultHeaderTableSize = 4096;
inline constexpr uint32_t kDefaultWindow = 65535;
inline constexpr uint32_t kLargestWindow = 0x7fffffff;  // §6.9.1

struct FrameHeader {
  uint32_t length = 0;  // of the payload
  FrameType type = FrameType::kData;
  uint8_t flags = 0;
  uint32_t stream = 0;  // without the reserved bit
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  uint64_t size() const { return kFrameHeaderSize + uint64_t{length}; }  // on the wire
  bool operator==(const FrameHeader&) const = default;
};

inline uint32_t read_u32(const char* p) {
  const auto* b = reinterpret_cast<const unsigned char*>(p);
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
}
inline void write_u32(char* p, uint32_t v) {
  p[0] = static_cast<char>(v >> 24);
  p[1] = static_cast<char>(v >> 16);
  p[2] = static_cast<char>(v >> 8);
  p[3] = static_cast<char>(v);
}
// `p`: kFrameHeaderSize bytes.
inline FrameHeader read_frame_header(const char* p) {
  FrameHeader h;
  h.length = read_u32(p) >> 8;
  h.type = static_cast<FrameType>(p[3]);
  h.flags = static_cast<uint8_t>(p[4]);
  h.stream = read_u32(p + 5) & 0x7fffffff;
  return h;
}
inline void write_frame_header(const FrameHeader& h, char* p) {
  write_u32(p, h.length << 8 | static_cast<uint8_t>(h.type));
  p[4] = static_cast<char>(h.flags);
  write_u32(p + 5, h.stream);
}

// SETTINGS that matter to someone in the middle (RFC 9113 §6.5.2).
enum class SettingId : uint16_t {
  kHeaderTableSize = 1,
  kEnablePush = 2,
  kMaxConcurrentStreams = 3,
  kInitialWindowSize = 4,
  kMaxFrameSize = 5,
  kMaxHeaderListSize = 6,
};
inline constexpr uint32_t kUnlimited = 0xffffffff;

// What one end asks of the other; the initial values are those of RFC 9113.
struct Settings {
  uint32_t header_table_size = kDefaultHeaderTableSize;
  bool enable_push = true;
  uint32_t max_concurrent_streams = kUnlimited;
  uint32_t initial_window_size = kDefaultWindow;
  uint32_t max_frame_size = kDefaultMaxFrameSize;
  uint32_t max_header_list_size = kUnlimited;
  bool operator==(const Settings&) const = default;
};

// Error codes on the wire (RFC 9113 §7).
enum class ErrorCode : uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kInternalError = 2,
  kFlowControlError = 3,
  kSettingsTimeout = 4,
  kStreamClosed = 5,
  kFrameSizeError = 6,
  kRefusedStream = 7,
  kCancel = 8,
  kCompressionError = 9,
  kConnectError = 10,
  kEnhanceYourCalm = 11,
  kInadequateSecurity = 12,
  kHttp11Required = 13,
};
// "REFUSED_STREAM"; "" for what is none of them.
std::string_view to_name(ErrorCode code);

// Why a connection is not followed any more: from then on nothing of it is parsed.
enum class Error : uint8_t {
  kNone,
  // not RFC 9113
  kBadPreface,
  kFirstNotSettings,
  kFrameTooLarge,
  kFrameSize,
  kStreamZero,
  kNotStreamZero,
  kPadding,
  kContinuationExpected,
  kContinuationUnexpected,
  kBadSetting,
  kZeroIncrement,
  kPushByClient,
  kStreamId,
  kIdleStream,
  kCompression,
  // bounds of ours
  kHeaderBlockTooLarge,
  kTooManyContinuations,
  kHeaderListTooLarge,
  kHeaderMemory,
  kTooManySettings,
  kCount,  // not an error
};
// A phrase for a report: "a frame longer than allowed (RFC 9113 4.2)".
std::string_view describe(Error error);

}  // namespace filibuster::http2
