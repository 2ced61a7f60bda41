// A client and a server with a relay between them. Shared by the tests of this folder and the fuzz
// target.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http2/frame.h"
#include "tests/unit/relay/peers.h"

namespace filibuster {

inline constexpr uint64_t kSecond = 1'000'000'000;

inline FaultSpec fault_of(std::string_view text) {
  return parse_fault(text).value();
}

class Relayed final : public RelayHost {
 public:
  explicit Relayed(uint32_t client_window = 65535, bool manual = false)
      : client(false, 0, client_window, manual), server(true, 4096), window_(client_window) {}

  // The connection's beginning, and what happened on it before the hand-off.
  void before_hand_off(const std::function<void()>& act = [] {}) {
    act();
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::string& frame : client.frames()) {
        moved = server.receive(frame) || moved;
      }
      for (const std::string& frame : server.frames()) {
        table.frame(frame);
        state.server_settings_seen = 1;
        moved = client.receive(frame) || moved;
      }
      serve();
    }
  }
  void hand_off() {
    state.client_max_frame_size = 16384;
    state.client_initial_window = window_;
    state.server_max_frame_size = 16384;
    state.client_window = nghttp2_session_get_effective_local_window_size(client.session) -
                          nghttp2_session_get_effective_recv_data_length(client.session);
    const std::string dump = table.dump();
    state.table_size = static_cast<uint32_t>(dump.size());
    relay = std::make_unique<Relay>(state, dump, half_read, this);
    if (!relay->ok()) std::abort();
  }
  void start() {
    before_hand_off();
    hand_off();
  }
  // With a request that is older than the relay and still open.
  void start_with_open(const FieldList& fields) {
    before_hand_off([&] { client.request(fields); });
    state.last_request = 1;
    state.open_requests = 1;
    hand_off();
  }

  // The next request of the client has this fault.
  int32_t faulted(const FieldList& fields, const FaultSpec& fault, uint32_t flags = 0) {
    return order(client.request(fields), fault, flags);
  }
  int32_t faulted_with_body(const FieldList& fields, const FaultSpec& fault, std::string body,
                            bool open = false) {
    return order(client.request_with_body(fields, std::move(body), open), fault, 0);
  }
  int32_t order(int32_t id, const std::optional<FaultSpec>& fault, uint32_t flags) {
    StreamOrder o;
    o.flags = flags;
    o.rpc = 1000 + static_cast<uint64_t>(id);
    o.execution = 7;
    o.plan_entry = static_cast<uint32_t>(plan.size());
    plan.push_back(fault);
    orders[id] = o;
    return id;
  }

  // Until nothing moves any more. Aborts where an end does not take what the relay sends.
  void run() {
    for (bool moved = true; moved;) {
      moved = step();
      serve();
    }
    if (!goaways_allowed && (!client.healthy || !server.healthy)) std::abort();
  }
  // Moves what there is once, in pieces.
  bool step() {
    std::string up;
    for (const std::string& frame : client.frames()) {
      if (frame.size() > 24 && frame.compare(0, 3, "PRI") == 0) {
        up += frame;
        continue;
      }
      const auto header = http2::read_frame_header(frame.data());
      const auto place = orders.find(static_cast<int32_t>(header.stream));
      if (header.type == http2::FrameType::kHeaders && place != orders.end()) {
        char bytes[kOrderFrameSize];
        write_order(header.stream, place->second, bytes);
        up.append(bytes, sizeof bytes);
        orders.erase(place);
      }
      up += frame;
    }
    bool moved = !up.empty();
    in_pieces(up, [&](std::string_view bytes) { relay->from_client(bytes, now); });
    if (quiet_after_reading) relay->client_quiet();
    std::string down;
    for (const std::string& frame : server.frames()) down += frame;
    moved = moved || !down.empty();
    in_pieces(down, [&](std::string_view bytes) { relay->from_server(bytes, now); });
    if (quiet_after_reading) relay->client_quiet();
    return drain() || moved;
  }
  bool drain() {
    bool moved = false;
    while (!relay->to_server().empty() || !relay->to_client().empty()) {
      moved = true;
      const std::string to_server(relay->to_server().view());
      relay->to_server().take(to_server.size());
      const std::string to_client(relay->to_client().view());
      relay->to_client().take(to_client.size());
      sent_to_server += to_server;
      sent_to_client += to_client;
      server.receive(to_server);
      client.receive(to_client);
      relay->resume();
    }
    return moved;
  }
  // As a server of an application: every complete head is answered.
  void serve() {
    for (; served_ < server.requests.size(); ++served_) {
      const int32_t id = server.requests[served_];
      if (answer) answer(id);
    }
  }

  const FaultSpec* fault_of(const StreamOrder& o) override {
    return plan[o.plan_entry] ? &*plan[o.plan_entry] : nullptr;
  }
  bool spares_errors(const StreamOrder&) const override { return sparing; }
  void spared(const StreamOrder& o) override { said.push_back("spared: " + std::to_string(o.rpc)); }
  uint64_t hang_limit_ns() const override { return 5 * kSecond; }
  void report(uint32_t execution, uint64_t rpc, const HangLimit& limit) override {
    said.push_back(std::to_string(execution) + " " + std::to_string(rpc) + " " + to_text(limit));
  }
  void unmet(const StreamOrder& o, const std::string& why) override {
    said.push_back("unmet: " + std::to_string(o.rpc) + " " + why);
  }
  void note(const std::string& text, bool harmed) override {
    said.push_back((harmed ? "harmed: " : "note: ") + text);
  }

  Session client, server;
  TableReader table;
  std::string half_read;
  RelayState state;
  std::unique_ptr<Relay> relay;
  std::function<void(int32_t)> answer = [this](int32_t id) {
    server.respond(id, {{":status", "200"}, {"x-for", std::to_string(id)}, {"x-same", "same"}},
                   "answer " + std::to_string(id));
  };
  std::vector<std::optional<FaultSpec>> plan;
  std::map<int32_t, StreamOrder> orders;
  std::vector<std::string> said;
  bool sparing = false;  // the faults are those of attempts in a sequence
  std::string sent_to_server, sent_to_client;
  uint64_t now = kSecond;
  size_t piece = 1 << 20;
  bool quiet_after_reading = true;
  bool goaways_allowed = false;  // a test sends one

 private:
  template <typename Give>
  void in_pieces(std::string_view bytes, Give give) {
    while (!bytes.empty()) {
      give(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
    }
  }
  size_t served_ = 0;
  const uint32_t window_;
};

}  // namespace filibuster
