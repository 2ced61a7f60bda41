#include "core/http2/frame_writer.h"

#include <algorithm>

namespace filibuster::http2 {
namespace {

void write_header(size_t length, FrameType type, uint8_t flags, uint32_t stream, Output& out) {
  char* to = out.reserve(kFrameHeaderSize);
  if (to != nullptr) {
    write_frame_header({static_cast<uint32_t>(length), type, flags, stream}, to);
  }
}

void append_u32(uint32_t value, Output& out) {
  char* to = out.reserve(4);
  if (to != nullptr) write_u32(to, value);
}

}  // namespace

void write_settings(std::initializer_list<std::pair<SettingId, uint32_t>> values, Output& out) {
  write_header(values.size() * 6, FrameType::kSettings, 0, 0, out);
  for (const auto& [id, value] : values) {
    out.append_byte(0);
    out.append_byte(static_cast<unsigned>(id));
    append_u32(value, out);
  }
}

void write_reset(uint32_t stream, ErrorCode code, Output& out) {
  write_header(4, FrameType::kRstStream, 0, stream, out);
  append_u32(static_cast<uint32_t>(code), out);
}

void write_goaway(uint32_t last_stream, ErrorCode code, std::string_view debug, Output& out) {
  write_header(8 + debug.size(), FrameType::kGoaway, 0, 0, out);
  append_u32(last_stream, out);
  append_u32(static_cast<uint32_t>(code), out);
  out.append(debug);
}

void write_window_update(uint32_t stream, uint32_t increment, Output& out) {
  write_header(4, FrameType::kWindowUpdate, 0, stream, out);
  append_u32(increment, out);
}

void write_data(uint32_t stream, std::string_view data, bool end_stream, uint32_t max_frame_size,
                Output& out) {
  if (data.empty() && !end_stream) return;
  do {
    const size_t size = std::min<size_t>(data.size(), max_frame_size);
    const bool last = size == data.size();
    write_header(size, FrameType::kData, last && end_stream ? kFlagEndStream : 0, stream, out);
    out.append(data.data(), size);
    data.remove_prefix(size);
  } while (!data.empty());
}

void write_headers(const HeadersFrame& frame, std::string_view block, uint32_t max_frame_size,
                   Output& out) {
  const bool push = frame.promised != 0;
  const size_t fixed = push ? 4 : frame.priority != nullptr ? kPriorityFieldSize : 0;
  size_t size = std::min<size_t>(block.size(), max_frame_size - fixed);
  bool last = size == block.size();
  unsigned flags = last ? kFlagEndHeaders : 0u;
  if (!push) {
    flags |= (frame.end_stream ? kFlagEndStream : 0u) | (fixed != 0 ? kFlagPriority : 0u);
  }
  write_header(fixed + size, push ? FrameType::kPushPromise : FrameType::kHeaders,
               static_cast<uint8_t>(flags), frame.stream, out);
  if (push) {
    append_u32(frame.promised, out);
  } else if (fixed != 0) {
    out.append(frame.priority, fixed);
  }
  out.append(block.data(), size);
  while (!last) {
    block.remove_prefix(size);
    size = std::min<size_t>(block.size(), max_frame_size);
    last = size == block.size();
    write_header(size, FrameType::kContinuation, last ? kFlagEndHeaders : 0, frame.stream, out);
    out.append(block.data(), size);
  }
}

std::string_view to_decimal(uint64_t value, char* out) {
  char reversed[20];
  size_t size = 0;
  do {
    reversed[size++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  std::reverse_copy(reversed, reversed + size, out);
  return {out, size};
}

}  // namespace filibuster::http2
