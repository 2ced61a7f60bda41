// Frames of our own, as bytes (RFC 9113 §6): synthetic answers, and frames written anew.
//
// FrameParser::at_boundary says where they may stand in a stream of somebody else's. The caller keeps
// account of what they use up: DATA consumes the reader's window (ConnectionView::window), and the real
// writer does not know of that.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/http2/frame.h"
#include "core/http2/frame_parser.h"
#include "core/http2/header_block.h"

namespace filibuster::http2 {

void write_settings(std::initializer_list<std::pair<SettingId, uint32_t>> values, Output& out);
void write_reset(uint32_t stream, ErrorCode code, Output& out);
void write_goaway(uint32_t last_stream, ErrorCode code, std::string_view debug, Output& out);
void write_window_update(uint32_t stream, uint32_t increment, Output& out);
// In frames of at most `max_frame_size`. Without data: nothing, or one empty frame with
// `end_stream`.
void write_data(uint32_t stream, std::string_view data, bool end_stream, uint32_t max_frame_size,
                Output& out);

// A header block in HEADERS (or PUSH_PROMISE), and CONTINUATION where it is longer than a frame.
struct HeadersFrame {
  uint32_t stream = 0;
  bool end_stream = false;
  const char* priority = nullptr;  // kPriorityFieldSize bytes, or none
  uint32_t promised = 0;           // the stream that a PUSH_PROMISE opens; 0: HEADERS
};
void write_headers(const HeadersFrame& frame, std::string_view block, uint32_t max_frame_size,
                   Output& out);

// Decimal digits of `value` in `out`, of at least 20 bytes.
std::string_view to_decimal(uint64_t value, char* out);

}  // namespace filibuster::http2
