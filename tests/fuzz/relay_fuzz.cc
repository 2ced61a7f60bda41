// The relay of faulted HTTP/2 connections. The first byte chooses:
//   0  anything: frames and bytes of both ends, orders, limits, ends, in any order. It neither
//      crashes nor keeps more than it was given; and until there is an order, what comes out is
//      what went in.
//   1  a recipe for a client and a server (libnghttp2's sessions) that do everything right, with
//      faults: both ends accept all that they get, every stream ends as it should, the faulted ones
//      as planned.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "core/grpc/message_reader.h"
#include "tests/unit/core/http2/wire.h"
#include "tests/unit/relay/relayed.h"

namespace {

using namespace filibuster;
using http2::FrameType;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

class Recipe {
 public:
  explicit Recipe(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  uint8_t next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }
  std::string_view take(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

FaultSpec fault_number(uint8_t number) {
  constexpr const char* kTexts[] = {
      "status:503",         "status:503:after", "grpc:INTERNAL",
      "grpc:ABORTED:after", "refused",          "reset",
      "reset:after",        "timeout",          "timeout:after",
      "status:204",         "stream-reset",     "stream-reset:CANCEL:after",
      "latency:5ms",        "partial-message",  "empty-message",
      "corrupt-message",    "no-trailers",      "grpc:ABORTED@2",
      "stream-reset@2",     "latency:5ms@2",    "goaway"};
  FaultSpec fault = parse_fault(kTexts[number % std::size(kTexts)]).value();
  if (fault.kind == FaultKind::kStatus) fault.body.assign(number * 100u, 'b');
  return fault;
}

// --- anything ------------------------------------------------------------------------------------

class AnyHost final : public RelayHost {
 public:
  const FaultSpec* fault_of(const StreamOrder& order) override {
    asked = true;
    if (order.plan_entry % 16 == 15) return nullptr;
    fault = fault_number(static_cast<uint8_t>(order.plan_entry));
    return &fault;
  }
  uint64_t hang_limit_ns() const override { return 1000; }
  void report(uint32_t, uint64_t, const HangLimit&) override {}
  void unmet(const StreamOrder&, const std::string&) override {}
  void note(const std::string&, bool harmed) override { this->harmed = this->harmed || harmed; }

  FaultSpec fault;
  bool asked = false;
  bool harmed = false;
};

std::string any_frame(Recipe& recipe) {
  const auto type = static_cast<FrameType>(recipe.next() % 12);
  const uint8_t flags = recipe.next();
  const uint32_t stream = recipe.next() % 32;
  const size_t size = recipe.next();
  const std::string_view payload = recipe.take(size);
  return http2::frame(type, flags, stream, payload);
}

std::string any_order(Recipe& recipe) {
  StreamOrder order;
  const uint32_t stream = recipe.next() % 32;
  order.plan_entry = recipe.next();
  order.flags = recipe.next();
  order.execution = recipe.next() % 2;
  std::string bytes(kOrderFrameSize, '\0');
  write_order(stream, order, bytes.data());
  return bytes;
}

void anything(Recipe recipe) {
  AnyHost host;
  RelayState state;
  const uint8_t form = recipe.next();
  state.server_settings_seen = form & 1;
  state.response_bytes_left = form & 2 ? recipe.next() : 0;
  state.last_request = form & 4 ? 7 : 0;
  state.open_requests = form & 4 ? 2 : 0;
  state.client_initial_window = form & 8 ? 100 : 65535;
  state.client_window = form & 16 ? 1000 : 65535;
  std::string up, down, up_out, down_out;
  if (form & 32) down = recipe.take(recipe.next());
  const size_t half_read = down.size();
  Relay relay(state, {}, down, &host);
  demand(relay.ok() || half_read != 0, "an empty table is a table");
  if (!relay.ok()) return;
  uint64_t now = 1;
  size_t steps = 0;
  bool meddled = false;
  while (!recipe.done()) {
    ++steps;
    std::string bytes;
    const uint8_t what = recipe.next() % 16;
    switch (what) {
      case 0:
      case 1:
      case 2:  // a frame of the client
        bytes = any_frame(recipe);
        break;
      case 3:
        bytes = any_order(recipe);
        break;
      case 4:
        bytes = recipe.take(recipe.next());
        break;
      case 5:
      case 6:
      case 7:  // of the server
        bytes = any_frame(recipe);
        break;
      case 8:
        bytes = recipe.take(recipe.next());
        break;
      case 9:
        relay.client_quiet();
        break;
      case 10:
        relay.expire(now += recipe.next() * 10u);
        break;
      case 11:
        relay.end_execution(recipe.next() % 2);
        break;
      case 12:
        if (recipe.next() != 0) break;
        meddled = true;
        relay.retire();
        break;
      case 13:
        if (recipe.next() == 0) relay.server_ended();
        break;
      case 14:
        up_out += relay.to_server().view();
        relay.to_server().take(relay.to_server().size());
        relay.resume();
        break;
      default:
        down_out += relay.to_client().view();
        relay.to_client().take(relay.to_client().size());
        relay.resume();
        break;
    }
    if (what <= 4) {
      up += bytes;
      relay.from_client(bytes, ++now);
    } else if (what <= 8) {
      down += bytes;
      relay.from_server(bytes, ++now);
    }
    relay.next_deadline_ns();
    relay.answering();
    relay.finished();
  }
  up_out += relay.to_server().view();
  down_out += relay.to_client().view();
  // Bodies apart, which are sent once: a few small frames for each thing that happened.
  const size_t few = 200 * (steps + 1);
  demand(up_out.size() <= up.size() + few, "no more for the server than came from the client");
  down.erase(0, half_read);
  demand(host.asked || down_out.size() <= down.size() + few,
         "no more for the client than came from the server");
  if (host.asked || host.harmed || meddled) return;
  // A frame that is not whole may be kept: so are its bytes, at most.
  demand(up.compare(0, up_out.size(), up_out) == 0, "requests pass as they are");
  demand(down.compare(0, down_out.size(), down_out) == 0, "responses pass as they are");
}

// Three messages of that size, each as the fault leaves it.
std::string messages(size_t size, FaultKind kind = FaultKind::kNone) {
  std::string all;
  for (int i = 0; i < 3; ++i) {
    char prefix[grpc::kPrefixSize];
    const bool empty = kind == FaultKind::kEmptyMessage;
    grpc::write_prefix(false, empty ? 0 : static_cast<uint32_t>(size), prefix);
    all.append(prefix, sizeof prefix);
    if (!empty)
      all.append(size, kind == FaultKind::kCorruptMessage ? static_cast<char>(~'d') : 'd');
  }
  return all;
}

// --- everything right ----------------------------------------------------------------------------

void everything_right(Recipe recipe) {
  const uint8_t form = recipe.next();
  Relayed r(form & 1 ? 3000 : 65535);
  r.piece = form & 2 ? 1 + recipe.next() : 1u << 20;
  const bool wait = (form & 4) != 0;  // requests are answered when they are whole
  std::vector<std::string> bodies;
  r.answer = [](int32_t) {};
  if (form & 8) {
    r.before_hand_off([&] {
      r.client.request({{":method", "GET"},
                        {":scheme", "http"},
                        {":path", "/0"},
                        {":authority", "a"},
                        {"x-0", "0"}});
    });
    r.server.respond(
        1, {{":status", "200"}, {"x-of-old", "old"}, {"x-long", std::string(300, 'l')}}, "old");
    r.before_hand_off();
    r.state.last_request = 1;
    r.hand_off();
  } else {
    r.start();
  }
  struct Call {
    int32_t id;
    FaultSpec fault;
    std::string answer;
    size_t size = 0;  // of each message, if it has some
    bool cancelled = false;
  };
  std::vector<Call> calls;
  size_t answered = 0;
  const auto answer_some = [&] {
    for (; answered < r.server.requests.size(); ++answered) {
      const int32_t id = r.server.requests[answered];
      if (wait && !r.server.streams[id].ended && !r.server.streams[id].reset) return;
      for (const Call& call : calls) {
        if (call.id != id) continue;
        FieldList trailers;
        if (call.answer.size() % 2 == 0) trailers = {{"x-trailer", std::to_string(id % 5)}};
        r.server.respond(id, {{":status", "200"}, {"x-a", std::to_string(id % 7)}}, call.answer,
                         trailers);
      }
    }
  };
  while (!recipe.done() && calls.size() < 24) {
    const uint8_t what = recipe.next();
    FieldList fields = {
        {":method", "POST"}, {":scheme", "http"}, {":path", "/p"}, {":authority", "a"}};
    const std::string body(recipe.next() * (what & 1 ? 300u : 3u), 'u');
    Call call;
    call.answer.assign(recipe.next() * (what & 2 ? 300u : 3u), 'd');
    if (what & 4) call.fault = fault_number(recipe.next());
    // Resets of the whole connection are for themselves.
    if (call.fault.kind == FaultKind::kReset || call.fault.kind == FaultKind::kGoaway) {
      call.fault = {};
    }
    call.size = call.answer.size();
    if (needs(call.fault) == FaultNeeds::kGrpc) call.answer = messages(call.size);
    call.id = call.fault.kind == FaultKind::kNone ? r.client.request_with_body(fields, body)
                                                  : r.faulted_with_body(fields, call.fault, body);
    calls.push_back(call);
    if (what & 8) {
      r.step();
      answer_some();
    }
    if (what & 16 && (what & 32)) {
      calls.back().cancelled = true;
      r.client.reset(call.id, NGHTTP2_CANCEL);
    }
    if (what & 64) {
      r.run();
      answer_some();
    }
  }
  for (int i = 0; i < 1000 && answered < r.server.requests.size() + 1; ++i) {
    const size_t before = answered;
    r.run();
    answer_some();
    r.run();
    r.relay->expire(r.now += 10'000'000);
    r.run();
    if (answered == before && answered == r.server.requests.size()) break;
  }
  r.relay->expire(1000 * kSecond);
  r.run();
  demand(!r.relay->reset() && r.relay->next_deadline_ns() == 0, "all is done");
  demand(r.client.lines.empty() && r.server.lines.empty(), "nobody complains");
  for (const Call& call : calls) {
    if (call.cancelled) continue;
    const Received& got = r.client.streams[call.id];
    const bool seen = r.server.streams.contains(call.id);
    demand(seen == (call.fault.kind == FaultKind::kNone || call.fault.after_effect ||
                    changes_answer(call.fault)),
           "the server gets what it is to get");
    const size_t one = call.answer.size() / 3;
    if (call.fault.at_message > 0 && call.fault.kind != FaultKind::kLatency) {
      demand(got.data == call.answer.substr(0, 2 * one), "what comes before passes");
      const bool reset = call.fault.kind == FaultKind::kStreamReset;
      demand(reset ? got.reset && got.error == NGHTTP2_INTERNAL_ERROR
                   : got.ended && got.field("grpc-status") == "10",
             "at a message");
      continue;
    }
    switch (call.fault.kind) {
      case FaultKind::kNone:
        demand(got.ended && got.data == call.answer, "the others are answered");
        demand(got.field("x-a") == std::to_string(call.id % 7), "with their own fields");
        break;
      case FaultKind::kStatus:
        demand(got.ended && got.field(":status") == std::to_string(call.fault.status), "status");
        demand(got.data == (call.fault.status == 204 ? "" : call.fault.body), "body");
        break;
      case FaultKind::kGrpc:
        demand(got.ended &&
                   got.field("grpc-status") == std::to_string(static_cast<int>(call.fault.code)),
               "gRPC status");
        break;
      case FaultKind::kRefused:
        demand(got.reset && got.error == NGHTTP2_REFUSED_STREAM, "refused");
        break;
      case FaultKind::kTimeout:
        demand(got.reset && got.error == NGHTTP2_CANCEL && got.blocks == 0, "silent");
        break;
      case FaultKind::kStreamReset:
        demand(got.reset && got.error == static_cast<uint32_t>(call.fault.error), "reset");
        break;
      case FaultKind::kPartialMessage:
        demand(got.reset && got.error == NGHTTP2_INTERNAL_ERROR, "partial");
        demand(got.data == call.answer.substr(0, one / 2), "half of the first message");
        break;
      case FaultKind::kLatency:
      case FaultKind::kEmptyMessage:
      case FaultKind::kCorruptMessage:
      case FaultKind::kNoTrailers:
        demand(got.ended && got.field("x-a") == std::to_string(call.id % 7), "it passes");
        demand(got.data == (call.fault.kind == FaultKind::kEmptyMessage ||
                                    call.fault.kind == FaultKind::kCorruptMessage
                                ? messages(call.size, call.fault.kind)
                                : call.answer),
               "as the fault leaves it");
        demand(call.fault.kind != FaultKind::kNoTrailers || got.blocks == 1, "without trailers");
        break;
      case FaultKind::kGoaway:
      case FaultKind::kReset:
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const Recipe recipe({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (data[0] % 2 == 0) {
    anything(recipe);
  } else {
    everything_right(recipe);
  }
  return 0;
}
