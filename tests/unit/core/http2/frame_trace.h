// What a frame parser told its handler, as lines of text: equal traces mean that the split into
// feeds made no difference. Shared by the unit tests and the fuzz target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/http2/frame_parser.h"

namespace filibuster::http2 {

class FrameTracer final : public FrameHandler {
 public:
  explicit FrameTracer(Direction direction) : parser(direction, this) {}

  Error feed(std::string_view bytes) {
    const std::vector<char> copy(bytes.begin(), bytes.end());
    return parser.feed(copy.data(), copy.size());
  }

  void on_frame(const FrameHeader& h, uint64_t start) override {
    add("frame", {start, h.length, static_cast<uint64_t>(h.type), h.flags, h.stream});
  }
  void on_block(const HeaderBlock& b) override {
    add("block", {b.stream, b.promised, b.end_stream, b.has_priority, b.start});
    lines.back() += " " + std::string(b.priority, b.has_priority ? 5 : 0);
    bytes_.clear();
  }
  void on_block_bytes(const char* data, size_t size) override { bytes_.append(data, size); }
  void on_block_end(const HeaderBlock& b) override {
    add("block end", {b.stream, b.start, b.end, b.frames, b.last_start, b.last.length, b.last.flags,
                      b.fragment_end, b.end_stream});
    lines.back() += " " + bytes_;
    blocks.push_back(b);
    bytes_.clear();
  }
  void on_data(uint32_t, const char* data, size_t size) override { bytes_.append(data, size); }
  void on_data_end(uint32_t stream, uint32_t flow_controlled, bool end) override {
    add("data", {stream, flow_controlled, end});
    lines.back() += " " + bytes_;
    bytes_.clear();
  }
  void on_reset(uint32_t stream, uint32_t code) override { add("reset", {stream, code}); }
  void on_settings(const SettingsFrame& s) override {
    add("settings", {s.now.header_table_size, s.now.enable_push, s.now.max_concurrent_streams,
                     s.now.initial_window_size, s.now.max_frame_size, s.now.max_header_list_size,
                     s.changes_table_size, s.changes_table_size ? s.smallest_table_size : 0});
  }
  void on_settings_ack() override { add("settings ack", {}); }
  void on_ping(bool ack, const char* data) override {
    add("ping", {ack});
    lines.back() += " " + std::string(data, 8);
  }
  void on_goaway(uint32_t last, uint32_t code) override { add("goaway", {last, code}); }
  void on_window_update(uint32_t stream, uint32_t n) override { add("window", {stream, n}); }
  void on_stream_error(uint32_t stream, Error error) override {
    add("stream error", {stream, static_cast<uint64_t>(error)});
  }

  FrameParser parser;
  std::vector<std::string> lines;
  std::vector<HeaderBlock> blocks;

 private:
  void add(std::string line, std::initializer_list<uint64_t> numbers) {
    for (uint64_t n : numbers) line += " " + std::to_string(n);
    lines.push_back(line);
  }
  std::string bytes_;
};

}  // namespace filibuster::http2
