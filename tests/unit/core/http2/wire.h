// HTTP/2 bytes as tests write them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/http2/frame.h"

namespace filibuster::http2 {

inline std::string frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  char header[kFrameHeaderSize];
  write_frame_header({static_cast<uint32_t>(payload.size()), type, flags, stream}, header);
  return std::string(header, sizeof header) + std::string(payload);
}
inline std::string data_frame(uint32_t stream, std::string_view payload, uint8_t flags = 0) {
  return frame(FrameType::kData, flags, stream, payload);
}
// `GET http /`, by the static table.
inline std::string headers_frame(uint32_t stream, uint8_t flags = kFlagEndHeaders) {
  return frame(FrameType::kHeaders, flags, stream, "\x82\x86\x84");
}
inline std::string u32(uint32_t v) {
  char bytes[4];
  write_u32(bytes, v);
  return std::string(bytes, 4);
}
inline std::string setting(uint16_t id, uint32_t value) {
  return u32(id).substr(2) + u32(value);
}
inline std::string settings(std::string_view payload = {}) {
  return frame(FrameType::kSettings, 0, 0, payload);
}
inline std::string settings_ack() {
  return frame(FrameType::kSettings, kFlagAck, 0, {});
}
inline std::string ping(bool ack = false) {
  return frame(FrameType::kPing, ack ? kFlagAck : 0, 0, "01234567");
}
// The preface and an empty SETTINGS.
inline std::string client_start() {
  return std::string(kClientPreface) + settings();
}
// [pad length] content padding
inline std::string padded(std::string_view content, uint8_t pad) {
  return std::string(1, static_cast<char>(pad)) + std::string(content) + std::string(pad, '\0');
}

// Of parts that are made in this order: an encoder's blocks depend on it (that of + is not
// defined).
inline std::string join(std::initializer_list<std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

// Calls `run` with the pieces of `bytes`: whole, byte by byte, and in every two parts. Each piece
// is a copy of exactly its size: a read beyond it is seen by the address sanitizer.
using Parts = std::vector<std::string_view>;
template <typename Run>
void for_every_split(std::string_view bytes, Run run) {
  run(Parts{bytes});
  Parts single;
  for (size_t i = 0; i < bytes.size(); ++i) single.push_back(bytes.substr(i, 1));
  run(single);
  for (size_t i = 1; i < bytes.size(); ++i) run(Parts{bytes.substr(0, i), bytes.substr(i)});
}
template <typename Parser>
void feed_copy(Parser& parser, std::string_view piece) {
  const std::vector<char> copy(piece.begin(), piece.end());
  parser.feed(copy.data(), copy.size());
}

}  // namespace filibuster::http2
