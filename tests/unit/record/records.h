// What the agents of a service write in a recording, made by hand. It is given to an assembler in several orders: events and tapes have no
// order to one another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/record/assembler.h"

namespace filibuster::record {

inline constexpr uint64_t kMs = 1'000'000;

enum class Mix : uint8_t { kEventsFirst, kTapeFirst, kInTurns };

class Records {
 public:
  explicit Records(size_t split = SIZE_MAX) : split_(split) {}

  uint64_t now() const { return now_; }
  void after_ms(uint64_t ms) { now_ += ms * kMs; }

  template <typename Event>
  void event(EventType type, const Event& event, const std::string& service = "orders") {
    std::vector<uint8_t> data(kMaxEvent);
    data.resize(encode(event, data.data(), data.size()));
    const EventHead head{static_cast<uint16_t>(type), execution, now_};
    events_.push_back(
        [this, head, data, service](Assembler* to) { to->event(source(service), head, data); });
  }

  void connection(uint64_t id, bool server, StreamProtocol protocol, std::string_view service = "",
                  SeenFrom from = SeenFrom::kItsFirstByte, uint64_t messages = 0) {
    ConnectionSeen seen;
    seen.connection = id;
    seen.server = server ? 1 : 0;
    seen.protocol = protocol;
    seen.seen_from = from;
    seen.messages = messages;
    seen.service = service;
    seen.local_port = server ? 8080 : 40'000;
    event(EventType::kConnectionSeen, seen, writer);
  }

  void bytes(uint64_t id, bool requests, std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min(split_, text.size()))) {
      const std::string part(text.substr(0, split_));
      uint64_t& position = positions_[{writer, id, requests}];
      const EventHead head{static_cast<uint16_t>(TapeType::kBytes), execution, now_};
      tape_.push_back([this, by = writer, head, id, requests, part, position](Assembler* to) {
        TapeBytes record;
        record.connection = id;
        record.position = position;
        record.requests = requests ? 1 : 0;
        record.bytes = {reinterpret_cast<const uint8_t*>(part.data()), part.size()};
        to->bytes(source(by), head, record);
      });
      position += part.size();
    }
  }
  void gap(uint64_t id, bool requests, uint64_t size, NotInterposedReason reason) {
    uint64_t& position = positions_[{writer, id, requests}];
    position += size;
    TapeGap record;
    record.connection = id;
    record.position = position;
    record.size = size;
    record.requests = requests ? 1 : 0;
    record.reason = static_cast<uint8_t>(reason);
    const EventHead head{static_cast<uint16_t>(TapeType::kGap), execution, now_};
    tape_.push_back(
        [this, head, record](Assembler* to) { to->gap(source("orders"), head, record); });
  }
  // The next bytes of that direction never reach the tape.
  void lose(uint64_t id, bool requests, uint64_t size) {
    positions_[{writer, id, requests}] += size;
  }
  void closed(uint64_t id, bool by_peer, int error = 0) {
    TapeClosed record;
    record.connection = id;
    record.requests = positions_[{writer, id, true}];
    record.answers = positions_[{writer, id, false}];
    record.by_peer = by_peer ? 1 : 0;
    record.error = error;
    const EventHead head{static_cast<uint16_t>(TapeType::kClosed), execution, now_};
    tape_.push_back(
        [this, head, record](Assembler* to) { to->closed(source("orders"), head, record); });
  }

  // --- RPCs; `rpc` is a number below 2^32

  void received(uint64_t rpc, uint64_t id, uint64_t number) {
    RpcReceived event_of;
    event_of.rpc = rpc;
    event(EventType::kRpcReceived, event_of);
    at(rpc, id, number, true);
  }
  // A request that no agent has sent.
  void entered(uint64_t rpc, uint64_t id, uint64_t number, std::string_view method,
               std::string_view target) {
    RpcIssued issued;
    issued.rpc = rpc;
    issued.service = "orders";
    issued.method = method;
    issued.target = target;
    issued.flags = kRpcEntry;
    event(EventType::kRpcIssued, issued);
    received(rpc, id, number);
  }
  void answered(uint64_t rpc, uint16_t status) {
    IncomingFinished finished;
    finished.rpc = rpc;
    finished.status = status;
    event(EventType::kIncomingFinished, finished);
  }
  struct Issue {
    uint64_t parent = 0;
    uint32_t thread = 1;
    uint16_t flags = 0;
    std::string_view stack = "F /srv/orders.py:31 price";
  };
  void issued(uint64_t rpc, uint64_t id, uint64_t number, std::string_view to,
              std::string_view method, std::string_view target, Issue how) {
    RpcIssued issued;
    issued.rpc = rpc;
    issued.parent_rpc = how.parent;
    issued.thread = how.thread;
    issued.flags = how.flags;
    issued.service = to;
    issued.method = method;
    issued.target = target;
    issued.stack_text = how.stack;
    event(EventType::kRpcIssued, issued, writer);
    at(rpc, id, number, false);
  }
  void finished(uint64_t rpc, RpcOutcome outcome = RpcOutcome::kAnswered, uint16_t status = 200) {
    RpcFinished finished;
    finished.rpc = rpc;
    finished.outcome = outcome;
    finished.status = status;
    event(EventType::kRpcFinished, finished, writer);
  }

  // All of it, and what it makes at the end.
  Assembled give(Assembler* to, Mix mix) {
    run(to, mix);
    to->finish();
    return to->take();
  }
  void run(Assembler* to, Mix mix) {
    const auto all = [&](const Steps& steps) {
      for (const Step& each : steps) each(to);
    };
    if (mix == Mix::kEventsFirst) {
      all(events_);
      all(tape_);
    } else if (mix == Mix::kTapeFirst) {
      all(tape_);
      all(events_);
    } else {
      for (size_t i = 0; i < std::max(events_.size(), tape_.size()); ++i) {
        if (i < tape_.size()) tape_[i](to);
        if (i < events_.size()) events_[i](to);
      }
    }
    events_.clear();
    tape_.clear();
  }

  EventSource source(const std::string& service) const {
    return {service == "orders" ? 0u : 9u, 77, service};
  }
  uint32_t execution = 2;
  std::string writer = "orders";  // the service whose agent writes bytes, and tells of calls

 private:
  using Step = std::function<void(Assembler*)>;
  using Steps = std::vector<Step>;
  void at(uint64_t rpc, uint64_t id, uint64_t number, bool incoming) {
    RpcAt place;
    place.rpc = rpc;
    place.connection = id;
    place.number = number;
    place.incoming = incoming ? 1 : 0;
    event(EventType::kRpcAt, place, writer);
  }

  size_t split_;
  uint64_t now_ = 1000 * kMs;
  Steps events_, tape_;
  std::map<std::tuple<std::string, uint64_t, bool>, uint64_t> positions_;
};

inline std::string http_request(std::string_view line, std::string_view body = "",
                                std::string_view fields = "") {
  return std::string(line) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         std::string(body);
}
inline std::string http_answer(int status, std::string_view body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// POST /orders on connection 1: asks Redis (2) for a price, `pricing` (3) where there is none, and keeps it.
inline void write_order(Records* to, uint64_t number = 1, uint64_t first_rpc = 100) {
  const auto call = [&](uint64_t rpc) { return first_rpc + rpc; };
  if (number == 1) {
    to->connection(1, true, StreamProtocol::kHttp1);
    to->connection(2, false, StreamProtocol::kRedis, "cache");
    to->connection(3, false, StreamProtocol::kHttp1, "pricing");
  }
  const Records::Issue redis{call(0), 1, kRpcRedis};
  to->bytes(1, true, http_request("POST /orders", R"({"item": 7})", "X-Filibuster: 1\r\n"));
  to->received(call(0), 1, number);
  to->after_ms(1);
  to->issued(call(1), 2, 2 * number - 1, "cache", "GET", "price:*", redis);
  to->bytes(2, true, "*2\r\n$3\r\nGET\r\n$7\r\nprice:7\r\n");
  to->after_ms(1);
  to->bytes(2, false, "$-1\r\n");
  to->finished(call(1));
  to->after_ms(1);
  to->issued(call(2), 3, number, "pricing", "GET", "/prices/7", {call(0)});
  to->bytes(3, true, http_request("GET /prices/7"));
  to->after_ms(1);
  to->bytes(3, false, http_answer(200, R"({"cents":950})"));
  to->finished(call(2));
  to->after_ms(1);
  to->issued(call(3), 2, 2 * number, "cache", "SET", "price:*", redis);
  to->bytes(2, true, "*3\r\n$3\r\nSET\r\n$7\r\nprice:7\r\n$3\r\n950\r\n");
  to->after_ms(1);
  to->bytes(2, false, "+OK\r\n");
  to->finished(call(3));
  to->after_ms(1);
  to->bytes(1, false, http_answer(201, R"({"id":7})"));
  to->answered(call(0), 201);
}

}  // namespace filibuster::record
