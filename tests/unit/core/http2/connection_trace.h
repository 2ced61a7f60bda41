// What a connection view told its listener, as lines of text. Shared by the unit tests and the fuzz
// target.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http2/connection_view.h"

namespace filibuster::http2 {

class ConnectionTracer final : public ConnectionListener {
 public:
  explicit ConnectionTracer(Side side = Side::kClient) : view(new ConnectionView(side, this)) {}

  Error feed(Direction d, std::string_view bytes) {
    const std::vector<char> copy(bytes.begin(), bytes.end());
    return view->feed(d, copy.data(), copy.size());
  }
  Error requests(std::string_view bytes) { return feed(Direction::kRequests, bytes); }
  Error responses(std::string_view bytes) { return feed(Direction::kResponses, bytes); }

  void on_request(Stream& s, const MessageHead& h, const HeaderBlock& b) override {
    add("request", s, h, b);
    if (!h.filibuster.empty()) lines.back() += " ours=" + std::string(h.filibuster);
    last_block = b;
    list_size = h.list_size;
  }
  void on_response(Stream& s, const MessageHead& h, const HeaderBlock& b) override {
    add("response", s, h, b);
  }
  void on_data(Stream& s, Direction d, const char* data, size_t size) override {
    // Pieces of one run are one line.
    const std::string start = std::string(name(d)) + " data " + std::to_string(s.id) + " ";
    if (open_data != start || lines.empty()) lines.push_back(start);
    open_data = start;
    lines.back().append(data, size);
  }
  void on_trailers(Stream& s, Direction d, const MessageHead& h, const HeaderBlock& b) override {
    add(std::string(name(d)) + " trailers", s, h, b);
  }
  void on_end(Stream& s, Direction d) override {
    add(std::string(name(d)) + " end " + std::to_string(s.id));
  }
  void on_reset(Stream& s, Direction by, uint32_t code) override {
    add(std::string(name(by)) + " reset " + std::to_string(s.id) + " " + std::to_string(code));
  }
  void on_malformed(Stream& s, Direction d) override {
    add(std::string(name(d)) + " malformed " + std::to_string(s.id));
  }
  void on_closed(Stream& s) override { add("closed " + std::to_string(s.id)); }
  void on_untracked(uint32_t id) override { add("untracked " + std::to_string(id)); }
  void on_goaway(Direction by, uint32_t last, uint32_t code) override {
    add(std::string(name(by)) + " goaway " + std::to_string(last) + " " + std::to_string(code));
  }
  void on_ping(Direction by, bool ack, const char*) override {
    add(std::string(name(by)) + (ack ? " pong" : " ping"));
  }
  void on_lost(Error error) override { add("lost: " + std::string(describe(error))); }
  void on_field(Direction d, const Field& f) override {
    if (!keep_fields) return;
    fields[static_cast<size_t>(d)].emplace_back(f.name, f.value);
  }

  std::vector<std::string> take() {
    std::vector<std::string> taken;
    taken.swap(lines);
    open_data.clear();
    return taken;
  }

  std::unique_ptr<ConnectionView> view;
  std::vector<std::string> lines;
  std::string open_data;
  HeaderBlock last_block;
  uint64_t list_size = 0;
  bool keep_fields = false;
  std::vector<std::pair<std::string, std::string>> fields[2];

 private:
  static const char* name(Direction d) { return d == Direction::kRequests ? ">" : "<"; }
  void add(std::string line) {
    lines.push_back(std::move(line));
    open_data.clear();
  }
  void add(std::string line, Stream& s, const MessageHead& h, const HeaderBlock& b) {
    line += " " + std::to_string(s.id);
    for (std::string_view text : {h.method, h.authority, h.path, h.content_type}) {
      if (!text.empty()) line += " " + std::string(text);
    }
    if (h.path_truncated) line += "...";
    if (h.status != 0) line += " " + std::to_string(h.status);
    if (h.has_content_length) line += " length=" + std::to_string(h.content_length);
    if (h.has_grpc_status) {
      line += " grpc=" + std::string(h.grpc_status) + ":" + std::string(h.grpc_message);
    }
    line += " @" + std::to_string(b.start) + "-" + std::to_string(b.end);
    add(line);
  }
};

}  // namespace filibuster::http2
