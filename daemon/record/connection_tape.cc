#include "daemon/record/connection_tape.h"

#include <algorithm>
#include <utility>

#include "core/resp/commands.h"
#include "daemon/record/exchange_parts.h"

namespace filibuster::record {
namespace {

// In capital letters.
std::string command_of(const nlohmann::json& command) {
  if (!command.is_array() || command.empty()) return "";
  std::string out = wire::bytes_of_text(command[0]).value_or("");
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

// What a client library says to set up its connection. Checks and statistics (PING, INFO) are no part of that.
bool sets_up(const std::string& name) {
  return name == "HELLO" || name == "AUTH" || name == "SELECT" || name == "CLIENT" ||
         name == "READONLY" || name == "READWRITE";
}

// It is no RPC.
bool is_by_library(const std::string& name) {
  const resp::CommandProperties* known = resp::find_command(name);
  return known != nullptr && known->has(resp::kByLibrary);
}

size_t size_of(const nlohmann::json& value) {
  return kExchangeOverhead +
         value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).size();
}

}  // namespace

void ConnectionTape::seen(const ConnectionSeen& event) {
  if (known_) return;
  known_ = true;
  is_server_ = event.server != 0;
  protocol_ = event.protocol;
  local_port_ = event.local_port;
  service_ = event.service;
  before_ = event.messages;
  if (event.seen_from == SeenFrom::kTheMiddle) {
    lose("its connection was joined in the middle of a message");
  } else if (protocol_ == StreamProtocol::kHttp1) {
    direction(true).http = std::make_unique<wire::Http1Reader>(http1::Direction::kRequests);
    direction(false).http = std::make_unique<wire::Http1Reader>(http1::Direction::kResponses);
  } else if (protocol_ == StreamProtocol::kRedis) {
    direction(true).resp =
        std::make_unique<wire::RespReader>(wire::RespReader::Direction::kCommands);
    direction(false).resp =
        std::make_unique<wire::RespReader>(wire::RespReader::Direction::kReplies);
  } else if (event.seen_from == SeenFrom::kItsFirstByte) {
    http2_ = std::make_unique<wire::Http2Reader>();
  } else {
    lose("its connection was joined in the middle: header fields refer to earlier ones");
  }
  for (Waiting& each : std::exchange(waiting_, {})) {
    kept_ -= each.text.size() + kExchangeOverhead;
    each.bytes.bytes = {reinterpret_cast<const uint8_t*>(each.text.data()), each.text.size()};
    switch (each.kind) {
      case Waiting::Kind::kBytes:
        take_bytes(each.time_ns, each.bytes);
        break;
      case Waiting::Kind::kGap:
        take_gap(each.time_ns, each.gap);
        break;
      case Waiting::Kind::kClosed:
        take_closed(each.time_ns, each.closed);
    }
  }
}

void ConnectionTape::bytes(uint64_t time_ns, const TapeBytes& record) {
  if (known_) return take_bytes(time_ns, record);
  Waiting each{Waiting::Kind::kBytes, time_ns, record, {}, {}, {}};
  each.text.assign(record.bytes.begin(), record.bytes.end());
  kept_ += each.text.size() + kExchangeOverhead;
  waiting_.push_back(std::move(each));
}

void ConnectionTape::gap(uint64_t time_ns, const TapeGap& record) {
  if (known_) return take_gap(time_ns, record);
  kept_ += kExchangeOverhead;
  waiting_.push_back({Waiting::Kind::kGap, time_ns, {}, record, {}, {}});
}

void ConnectionTape::closed(uint64_t time_ns, const TapeClosed& record) {
  if (known_) return take_closed(time_ns, record);
  kept_ += kExchangeOverhead;
  waiting_.push_back({Waiting::Kind::kClosed, time_ns, {}, {}, record, {}});
}

void ConnectionTape::lose(const std::string& why) {
  if (!broken_.empty()) return;
  broken_ = why;
  for (Direction& each : directions_) {
    kept_ -= each.open;
    each = {};
  }
  if (http2_) kept_ -= http2_->kept();
  http2_.reset();
  // What is under way is never whole.
  for (auto& [number, each] : exchanges_) {
    if (!each.answer_is_whole) set_once(&each.problem, broken_);
  }
}

bool ConnectionTape::follows(Direction* from, uint64_t position) {
  if (from->position == position) return true;
  lose("bytes of its connection were lost, since the tape was full");
  return false;
}

void ConnectionTape::take_bytes(uint64_t time_ns, const TapeBytes& record) {
  if (!broken_.empty()) return;
  const bool requests = record.requests != 0;
  Direction& to = direction(requests);
  if (!follows(&to, record.position)) return;
  to.position += record.bytes.size();
  const std::string_view text(reinterpret_cast<const char*>(record.bytes.data()),
                              record.bytes.size());
  if (http2_) return feed_http2(requests, text, time_ns);
  feed(requests, text, time_ns);
  if (requests) tell_methods();
  check_readers(requests);
}

void ConnectionTape::feed(bool requests, std::string_view text, uint64_t time_ns) {
  Direction& to = direction(requests);
  bool is_between = true, any = false;
  const auto take = [&](auto messages) {
    any = !messages.empty();
    keep(requests, std::move(messages));
  };
  if (to.http) {
    take(to.http->feed(text, time_ns));
    is_between = to.http->state() == wire::Http1Reader::State::kBetween;
  } else if (to.resp) {
    take(to.resp->feed(text, time_ns));
    is_between = to.resp->between();
  }
  kept_ -= to.open;
  to.open = is_between ? 0 : (any ? 0 : to.open) + text.size();
  kept_ += to.open;
}

void ConnectionTape::take_gap(uint64_t time_ns, const TapeGap& record) {
  if (!broken_.empty()) return;
  const bool requests = record.requests != 0;
  if (record.size == 0) {
    const auto reason = static_cast<NotInterposedReason>(record.reason);
    return lose("its connection is not followed to its end" +
                (record.reason == 0 ? "" : " (" + std::string(reason_name(reason)) + ")"));
  }
  Direction& to = direction(requests);
  if (!follows(&to, record.position - record.size)) return;
  to.position = record.position;
  if (!to.http) return lose("bytes of its connection went by unseen");
  keep(requests, to.http->skip(record.size, time_ns));
  check_readers(requests);
}

void ConnectionTape::take_closed(uint64_t time_ns, const TapeClosed& record) {
  closed_ = true;
  if (!broken_.empty()) return;
  if (record.requests > direction(true).position || record.answers > direction(false).position)
    return lose("bytes of its connection were lost, since the tape was full");
  if (record.error != 0) return;
  // Whoever receives requests sends the answers.
  const bool peer_sends_requests = is_server_;
  if (record.by_peer != 0) return end_direction(peer_sends_requests, time_ns);
  // This process sends nothing more; what it might have read of the other one is not known.
  end_direction(!peer_sends_requests, time_ns);
}

void ConnectionTape::end_direction(bool requests, uint64_t time_ns) {
  if (direction(requests).http) keep(requests, direction(requests).http->finish(time_ns));
}

// An answer is read by what its request was, and may begin before the request has ended.
void ConnectionTape::tell_methods() {
  const Direction& requests = direction(true);
  if (!requests.http || requests.http->state() != wire::Http1Reader::State::kInMessage) return;
  const wire::HttpMessage& open = requests.http->open_message();
  if (open.number <= methods_told_ || open.method.empty()) return;
  methods_told_ = open.number;
  direction(false).http->expect_answer_to(open.method);
}

void ConnectionTape::check_readers(bool requests) {
  const Direction& of = direction(requests);
  if (of.http && of.http->state() == wire::Http1Reader::State::kInvalid)
    lose("what went over its connection is no HTTP/1");
  if (of.http && of.http->state() == wire::Http1Reader::State::kUpgraded)
    lose("its connection was upgraded to another protocol");
  if (of.resp && of.resp->problem() != nullptr)
    lose(std::string("what went over its connection is not read: ") + of.resp->problem());
}

ConnectionTape::Kept& ConnectionTape::exchange(uint64_t number, uint64_t time_ns, size_t size) {
  Kept& out = exchanges_[number];
  out.last_ns = std::max(out.last_ns, time_ns);
  out.size += size;
  kept_ += size;
  return out;
}

void ConnectionTape::keep(bool requests, std::vector<wire::HttpMessage> messages) {
  for (wire::HttpMessage& each : messages) {
    if (requests && each.number > methods_told_) {
      methods_told_ = each.number;
      direction(false).http->expect_answer_to(each.method);
    }
    Kept& to = exchange(before_ + each.number, each.ended_ns, size_of(each));
    if (requests) to.begun_ns = each.begun_ns;
    set_once(&to.problem, problem_of(each));
    if (!requests) to.answer_is_whole = true;
    (requests ? to.request : to.answer) = std::move(each);
  }
}

void ConnectionTape::keep(bool requests, std::vector<wire::RespMessage> messages) {
  for (wire::RespMessage& each : messages) {
    if (each.number == 0) continue;
    each.number += before_;
    if (requests) {
      keep_command(std::move(each));
    } else {
      keep_reply(std::move(each));
    }
  }
}

ConnectionTape::Place ConnectionTape::find(uint64_t number) {
  auto place = exchanges_.upper_bound(number);
  if (place == exchanges_.begin()) return exchanges_.end();
  --place;
  const Kept& kept = place->second;
  const bool around = kept.is_transaction && number <= kept.last;
  return place->first == number || around ? place : exchanges_.end();
}

void ConnectionTape::keep_command(wire::RespMessage message) {
  const std::string name = command_of(message.value);
  const size_t size = size_of(message.value);
  if (transaction_.first != 0) return keep_member(name, std::move(message), size);
  Kept& to = exchange(message.number, message.ended_ns, size);
  to.begun_ns = message.begun_ns;
  if (message.too_large) set_once(&to.problem, "a command is larger than 4 MiB");
  to.is_transaction = name == "MULTI";
  if (to.is_transaction) {
    transaction_ = {message.number, nlohmann::json::array({"MULTI"})};
  } else {
    to.command = std::move(message.value);
  }
}

// Of the transaction that is open.
void ConnectionTape::keep_member(const std::string& name, wire::RespMessage message, size_t size) {
  Kept& to = exchange(transaction_.first, message.ended_ns, size);
  if (message.too_large) set_once(&to.problem, "a command is larger than 4 MiB");
  if (name != "EXEC" && name != "DISCARD" && name != "RESET") {
    transaction_.command.push_back(std::move(message.value));
    return;
  }
  const auto place = exchanges_.find(transaction_.first);
  to.command = std::move(transaction_.command);
  to.last = message.number;
  transaction_ = {};
  // An RPC may have named its last command before these bytes came.
  if (const auto named = exchanges_.find(message.number); named != exchanges_.end()) {
    to.claimed = to.claimed || named->second.claimed;
    drop(named);
  }
  if (name != "EXEC") drop(place);  // it is no call
}

void ConnectionTape::keep_reply(wire::RespMessage message) {
  const auto place = find(message.number);
  if (place == exchanges_.end() || !place->second.command) return;
  // The replies of a transaction are OK and QUEUED, but for the last one.
  if (place->second.is_transaction && place->second.last != message.number) return;
  Kept& to = exchange(place->first, message.ended_ns, size_of(message.value));
  if (message.too_large) set_once(&to.problem, "a reply is larger than 4 MiB");
  to.reply = std::move(message.value);
  to.answer_is_whole = true;
  if (to.claimed || to.is_transaction || !sets_up(command_of(*to.command))) return;
  openings_.push_back({std::move(*to.command), std::move(*to.reply)});
  drop(place);
}

void ConnectionTape::drop(Place place) {
  kept_ -= place->second.size;
  exchanges_.erase(place);
}

void ConnectionTape::claim(uint64_t number) {
  const auto place = find(number);
  // The bytes may come later than this.
  (place == exchanges_.end() ? exchange(number, 0, 0) : place->second).claimed = true;
}

Exchange ConnectionTape::take(uint64_t number) {
  Exchange out;
  const auto place = find(number);
  if (place != exchanges_.end()) {
    out = std::move(static_cast<Exchange&>(place->second));
    drop(place);
  }
  if (!known_) {
    out.problem = "what connection it went over was not told";
    return out;
  }
  if (const wire::HttpMessage* open = open_answer(number); open != nullptr && !out.answer)
    out.answer = *open;
  if (!out.request && !out.command)
    set_once(&out.problem, broken_.empty() ? "its request was not recorded" : broken_);
  if (!out.answer_is_whole) set_once(&out.problem, broken_);
  return out;
}

std::vector<ConnectionTape::Unclaimed> ConnectionTape::take_unclaimed(uint64_t time_ns) {
  std::vector<Unclaimed> out;
  for (auto& [number, each] : exchanges_) {
    if (each.claimed || each.told || each.begun_ns >= time_ns) continue;
    if (each.request) {
      out.push_back({each.begun_ns, each.request->method + " " + each.request->target});
    } else if (each.command && !is_by_library(command_of(*each.command))) {
      out.push_back({each.begun_ns, command_of(*each.command)});
    } else {
      continue;
    }
    each.told = true;
  }
  return out;
}

void ConnectionTape::forget_before(uint64_t time_ns) {
  for (auto place = exchanges_.begin(); place != exchanges_.end();) {
    const auto next = std::next(place);
    const Kept& each = place->second;
    if (!each.claimed && each.last_ns < time_ns && (each.answer_is_whole || closed_)) drop(place);
    place = next;
  }
  const auto old = std::find_if(waiting_.begin(), waiting_.end(),
                                [&](const Waiting& each) { return each.time_ns < time_ns; });
  if (old == waiting_.end()) return;
  for (const Waiting& each : std::exchange(waiting_, {})) {
    kept_ -= each.text.size() + kExchangeOverhead;
    closed_ = closed_ || each.kind == Waiting::Kind::kClosed;
  }
  known_ = true;
  lose("what connection it went over was not told");
}

bool ConnectionTape::has_claims() const {
  return std::any_of(exchanges_.begin(), exchanges_.end(),
                     [](const auto& row) { return row.second.claimed; });
}

std::vector<cases::Opening> ConnectionTape::take_openings() {
  return std::exchange(openings_, {});
}

}  // namespace filibuster::record
