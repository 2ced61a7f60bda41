#include "core/http2/retirement.h"

#include <algorithm>
#include <cstring>

namespace filibuster::http2 {
namespace {

// A setting of gRPC's own: GRPC_ALLOW_TRUE_BINARY_METADATA.
constexpr uint16_t kGrpcTrueBinary = 0xfe03;
constexpr size_t kSettingBytes = 6;

// A type that nobody knows: such frames are ignored and discarded (RFC 9113 §5.5).
constexpr auto kNoMeaning = static_cast<FrameType>(0xf2);

// The first bytes of a PING with an acknowledgement and of a GOAWAY without debug data are equal.
constexpr size_t kSameBytes = 3;

}  // namespace

// --- PingToGoaway --------------------------------------------------------------------------------

PingToGoaway::PingToGoaway(uint64_t opaque) {
  write_frame_header({8, FrameType::kPing, 0, 0}, ping_);
  write_frame_header({8, FrameType::kPing, kFlagAck, 0}, ack_);
  std::memcpy(ping_ + kFrameHeaderSize, &opaque, sizeof opaque);
  std::memcpy(ack_ + kFrameHeaderSize, &opaque, sizeof opaque);
  // Knuth, Morris, Pratt: of the first n bytes, how many at the end are also the first ones.
  fallback_[0] = fallback_[1] = 0;
  for (size_t n = 1; n < kPingSize; ++n) {
    size_t shorter = fallback_[n];
    while (shorter != 0 && ack_[shorter] != ack_[n]) shorter = fallback_[shorter];
    fallback_[n + 1] = static_cast<uint8_t>(ack_[shorter] == ack_[n] ? shorter + 1 : 0);
  }
}

size_t PingToGoaway::step(size_t matched, char byte) const {
  while (matched != 0 && ack_[matched] != byte) matched = fallback_[matched];
  return ack_[matched] == byte ? matched + 1 : 0;
}

// The acknowledgement begins at byte `start` of the pieces, or before them.
void PingToGoaway::overwrite(Pieces pieces, size_t size, int64_t start) const {
  char goaway[kPingSize];
  write_frame_header({8, server_leaves_ ? kNoMeaning : FrameType::kGoaway, 0, 0}, goaway);
  write_u32(goaway + kFrameHeaderSize, kLargestWindow);  // 2^31-1: all that are open go on
  write_u32(goaway + kFrameHeaderSize + 4, static_cast<uint32_t>(ErrorCode::kNoError));
  int64_t at = 0;
  pieces.each(0, size, [&](const char* part, size_t take) {
    const int64_t from = std::max(at, start);
    const int64_t to =
        std::min(at + static_cast<int64_t>(take), start + static_cast<int64_t>(kPingSize));
    if (from < to) {
      std::memcpy(const_cast<char*>(part) + (from - at), goaway + (from - start),
                  static_cast<size_t>(to - from));
    }
    at += static_cast<int64_t>(take);
    return true;
  });
}

void PingToGoaway::watch(Pieces pieces, size_t size) {
  pieces.each(0, size, [&](const char* data, size_t take) {
    for (size_t k = 0; k < take; ++k) {
      std::memmove(last_, last_ + 1, sizeof last_ - 1);
      last_[sizeof last_ - 1] = data[k];
      if (last_[3] != static_cast<char>(FrameType::kGoaway)) continue;
      const FrameHeader h = read_frame_header(last_);
      server_leaves_ = server_leaves_ || (h.stream == 0 && h.flags == 0 && h.length >= 8 &&
                                          h.length <= kDefaultMaxFrameSize);
    }
    return !server_leaves_;
  });
}

PingToGoaway::Seen PingToGoaway::found() {
  done_ = true;
  return server_leaves_ ? Seen::kIgnored : Seen::kGoaway;
}

PingToGoaway::Seen PingToGoaway::pass(Pieces pieces, size_t size, std::string_view ahead,
                                      bool last) {
  if (done_ || size == 0) return Seen::kNothing;
  const auto read = static_cast<int64_t>(size);
  if (committed_) {
    overwrite(pieces, size, -int64_t{matched_});
    if (matched_ + size < kPingSize) {
      matched_ = static_cast<uint8_t>(matched_ + size);
      return Seen::kNothing;
    }
    return found();
  }
  size_t matched = matched_;
  int64_t at = 0;
  size_t left = size;
  for (size_t i = 0; i < pieces.count && left != 0; ++i) {
    const size_t take = std::min(left, pieces[i].iov_len);
    const char* data = static_cast<const char*>(pieces[i].iov_base);
    for (size_t k = 0; k < take; ++k) {
      // Most bytes do not belong to the acknowledgement.
      if (matched == 0) {
        const void* next = std::memchr(data + k, ack_[0], take - k);
        if (next == nullptr) break;
        k = static_cast<size_t>(static_cast<const char*>(next) - data);
      }
      matched = step(matched, data[k]);
      if (matched == kPingSize) {
        const int64_t start = at + static_cast<int64_t>(k) + 1 - static_cast<int64_t>(kPingSize);
        if (start > 0) watch(pieces, static_cast<size_t>(start));
        overwrite(pieces, size, start);
        return found();
      }
    }
    at += static_cast<int64_t>(take);
    left -= take;
  }
  // What was read may end in the beginning of the acknowledgement: the bytes that come next tell.
  size_t known = matched;
  int64_t start = read - static_cast<int64_t>(known);
  const auto harmless = [&] { return read - start <= static_cast<int64_t>(kSameBytes); };
  for (size_t k = 0; k < ahead.size() && known != kPingSize && !harmless(); ++k) {
    known = step(known, ahead[k]);
    start = read + static_cast<int64_t>(k) + 1 - static_cast<int64_t>(known);
  }
  if (!harmless()) {
    const bool header = known >= kFrameHeaderSize;
    if (known < kPingSize && !last) return Seen::kUndecided;
    if (known == kPingSize || header) {
      if (start > 0) watch(pieces, static_cast<size_t>(start));
      overwrite(pieces, size, start);
      committed_ = true;
      matched_ = static_cast<uint8_t>(read - start);
      return Seen::kNothing;
    }
    // The client reads its first bytes as they are, so the others must not change either.
    matched = 0;
  }
  watch(pieces, size);
  matched_ = static_cast<uint8_t>(matched);
  return Seen::kNothing;
}

void PingToGoaway::peek(Pieces pieces, size_t size) const {
  PingToGoaway copy = *this;
  copy.pass(pieces, size, {}, true);
}

// --- fails_on_goaway -----------------------------------------------------------------------------

bool fails_on_goaway(std::string_view first) {
  if (first.size() < kFrameHeaderSize) return false;
  const FrameHeader h = read_frame_header(first.data());
  if (h.type != FrameType::kSettings || h.stream != 0 || h.has(kFlagAck)) return false;
  first = first.substr(kFrameHeaderSize, h.length);
  bool table = false, streams = false, frame = false;
  for (; first.size() >= kSettingBytes; first.remove_prefix(kSettingBytes)) {
    const auto id = static_cast<uint16_t>(read_u32(first.data()) >> 16);
    if (id == kGrpcTrueBinary) return false;
    table = table || id == static_cast<uint16_t>(SettingId::kHeaderTableSize);
    streams = streams || id == static_cast<uint16_t>(SettingId::kMaxConcurrentStreams);
    frame = frame || id == static_cast<uint16_t>(SettingId::kMaxFrameSize);
  }
  return table && streams && frame;
}

}  // namespace filibuster::http2
