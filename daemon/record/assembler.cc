#include "daemon/record/assembler.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace filibuster::record {
namespace {

constexpr size_t kMostNames = 1u << 16;
constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();

std::vector<std::string> frames_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// A process of which such a connection was seen may ask others over it at any later time. UDP carries names and figures, and what blocks
// comes one by one.
bool stays_unseen(NotInterposedReason reason) {
  return reason != NotInterposedReason::kUdp && reason != NotInterposedReason::kRedisBlocking;
}

std::string connection_text(std::string_view service, std::string_view peer) {
  if (service.empty() || service == peer) return std::string(peer);
  return std::string(service) + " (" + std::string(peer) + ")";
}

}  // namespace

Assembler::Assembler(AssemblerOptions options) : options_(std::move(options)) {}

// --- what comes -----------------------------------------------------------------------------------

template <typename Event>
void Assembler::take(const EventSource& source, const EventHead& head,
                     std::span<const uint8_t> payload) {
  Event event;
  if (!decode(payload.data(), payload.size(), &event)) return;
  on(source, head, event);
}

void Assembler::event(const EventSource& source, const EventHead& head,
                      std::span<const uint8_t> payload) {
  const std::lock_guard lock(mutex_);
  const auto type = static_cast<EventType>(head.type);
  if (!is_ours(source)) {
    // Its callers know the name of a request whose bytes may be missing.
    if (type == EventType::kRpcIssued) take<RpcIssued>(source, head, payload);
    return;
  }
  switch (type) {
    case EventType::kRpcIssued:
      return take<RpcIssued>(source, head, payload);
    case EventType::kRpcReceived:
      return take<RpcReceived>(source, head, payload);
    case EventType::kRpcFinished:
      return take<RpcFinished>(source, head, payload);
    case EventType::kIncomingFinished:
      return take<IncomingFinished>(source, head, payload);
    case EventType::kConnectionSeen:
      return take<ConnectionSeen>(source, head, payload);
    case EventType::kRpcAt:
      return take<RpcAt>(source, head, payload);
    case EventType::kNotInterposed:
      return take<NotInterposed>(source, head, payload);
    case EventType::kUnseenRequests:
      return take<UnseenRequests>(source, head, payload);
    default:
      return;
  }
}

void Assembler::note_name(const RpcIssued& event) {
  if (!names_.try_emplace(event.rpc, event.method, event.target).second) return;
  names_in_order_.push_back(event.rpc);
  if (names_in_order_.size() <= kMostNames) return;
  names_.erase(names_in_order_.front());
  names_in_order_.pop_front();
}

void Assembler::on(const EventSource& source, const EventHead& head, const RpcIssued& event) {
  const bool is_entry = (event.flags & kRpcEntry) != 0;
  if (event.service == options_.service && (is_entry || !is_ours(source))) note_name(event);
  if (is_entry || !is_ours(source)) return;
  const auto [place, added] = calls_.try_emplace(event.rpc);
  if (!added) return;
  CallState& call = place->second;
  call.agent = source.agent;
  DraftCall& draft = call.draft;
  draft.call.input.kind = (event.flags & kRpcRedis) != 0 ? cases::Kind::kRedis : cases::Kind::kHttp;
  draft.call.input.to = plain_name(event.service, event.peer);
  draft.stack = frames_of(event.stack_text);
  draft.issued_ns = head.time_ns;
  draft.thread = uint64_t{source.agent} << 32 | event.thread;
  draft.method = event.method;
  draft.target = event.target;
  draft.is_http2 = (event.flags & kRpcHttp2) != 0;
  join_cause(source, event, &call);
}

void Assembler::join_cause(const EventSource& source, const RpcIssued& event, CallState* call) {
  if (event.parent_rpc != 0) {
    std::vector<uint64_t>& calls = children_[event.parent_rpc];
    if (calls.size() <= options_.bounds.most_calls) return calls.push_back(event.rpc);
    // There is one more than a case may have, so that it says so.
    calls_.erase(event.rpc);
    ++out_.calls_without_case;
    return;
  }
  // No request led to it where none is open, or where the runtime says so.
  call->of_process = (event.flags & kRpcBackground) != 0 || open_[source.agent].empty();
  if (call->of_process) return;
  spoil_open(source.agent, "the cause of a call to " + call->draft.call.input.to + " (" +
                               call->draft.method + " " + call->draft.target +
                               ") that was made while it was open is not known");
  calls_.erase(event.rpc);
  ++out_.calls_without_case;
}

void Assembler::on(const EventSource& source, const EventHead& head, const RpcReceived& event) {
  Entry& entry = entries_[event.rpc];
  if (entry.received_ns != 0) return;  // another process of the service goes on with it
  entry.agent = source.agent;
  entry.received_ns = std::max<uint64_t>(head.time_ns, 1);
  entry.is_no_case =
      options_.startup_execution != 0 && head.execution == options_.startup_execution;
  if (const auto blind = blind_.find(source.agent); blind != blind_.end())
    spoil(&entry, blind->second);
  if (!entry.ended && !entry.is_no_case) open_[source.agent].insert(event.rpc);
}

void Assembler::on(const EventSource& source, const EventHead& head, const RpcFinished& event) {
  const auto place = calls_.find(event.rpc);
  if (place == calls_.end() || event.rpc >> 32 != source.agent) return;
  place->second.ended = true;
  place->second.draft.finished_ns = head.time_ns;
  place->second.draft.ending = event;
}

void Assembler::on(const EventSource&, const EventHead& head, const IncomingFinished& event) {
  const auto place = entries_.find(event.rpc);
  if (place == entries_.end()) return;
  Entry& entry = place->second;
  // Where a child answers what its parent has read, both say how it ends.
  entry.status = std::max(entry.status, event.status);
  end_entry(&entry, head.time_ns);
  open_[entry.agent].erase(event.rpc);
}

void Assembler::end_entry(Entry* entry, uint64_t ns) {
  entry->ended = true;
  entry->ended_ns = std::max(entry->ended_ns, ns);
}

void Assembler::on(const EventSource& source, const EventHead&, const ConnectionSeen& event) {
  ConnectionTape& of = tape(source, event.connection);
  const size_t before = of.kept();
  of.seen(event);
  bound_tape(&of, before);
}

void Assembler::on(const EventSource& source, const EventHead&, const RpcAt& event) {
  const Place at{source.agent, event.connection, event.number};
  if (event.incoming != 0) {
    const auto entry = entries_.find(event.rpc);
    if (entry == entries_.end()) return;
    entry->second.place = at;
  } else {
    const auto call = calls_.find(event.rpc);
    if (call == calls_.end() || event.rpc >> 32 != source.agent) return;
    call->second.place = at;
    call->second.draft.connection = uint64_t{source.agent} << 32 | event.connection;
    call->second.draft.number = event.number;
  }
  tape(source, event.connection).claim(event.number);
}

void Assembler::on(const EventSource& source, const EventHead&, const NotInterposed& event) {
  const std::string what =
      connection_text(event.service, event.peer) + ": " + std::string(reason_name(event.reason));
  out_.not_followed.insert((event.outgoing != 0 ? "to " : "from ") + what);
  if (event.outgoing == 0 || event.reason == NotInterposedReason::kUdp) return;
  const std::string why = "not all that the service asks is followed: the connection to " + what;
  spoil_open(source.agent, why);
  if (stays_unseen(event.reason)) blind_.try_emplace(source.agent, why);
}

void Assembler::on(const EventSource& source, const EventHead&, const UnseenRequests& event) {
  spoil_open(source.agent, "requests to " + connection_text(event.service, event.peer) +
                               " went over a connection that was open before");
}

ConnectionTape& Assembler::tape(const EventSource& source, uint64_t connection) {
  return tapes_[{source.agent, connection}];
}

// What is under way in all has a bound: the connection that exceeds it is not read any more.
void Assembler::bound_tape(ConnectionTape* of, size_t before) {
  kept_ = kept_ + of->kept() - before;
  if (kept_ > options_.most_kept)
    of->lose("more was under way than is kept (" + std::to_string(options_.most_kept >> 20) +
             " MiB)");
}

void Assembler::bytes(const EventSource& source, const EventHead& head, const TapeBytes& record) {
  const std::lock_guard lock(mutex_);
  if (!is_ours(source)) return;
  ConnectionTape& of = tape(source, record.connection);
  const size_t before = of.kept();
  of.bytes(head.time_ns, record);
  bound_tape(&of, before);
}

void Assembler::gap(const EventSource& source, const EventHead& head, const TapeGap& record) {
  const std::lock_guard lock(mutex_);
  if (!is_ours(source)) return;
  ConnectionTape& of = tape(source, record.connection);
  const size_t before = of.kept();
  of.gap(head.time_ns, record);
  bound_tape(&of, before);
}

void Assembler::closed(const EventSource& source, const EventHead& head, const TapeClosed& record) {
  const std::lock_guard lock(mutex_);
  if (!is_ours(source)) return;
  ConnectionTape& of = tape(source, record.connection);
  const size_t before = of.kept();
  of.closed(head.time_ns, record);
  bound_tape(&of, before);
}

// It is not known what they told: a call of any request that is not written yet may be among them.
void Assembler::lost(const EventSource& source, uint64_t records) {
  const std::lock_guard lock(mutex_);
  if (!is_ours(source)) return;
  out_.lost += records;
  end_of_agent(source.agent, "records of its process were lost");
}

void Assembler::ended(const EventSource& source) {
  const std::lock_guard lock(mutex_);
  if (!is_ours(source)) return;
  ended_agents_.insert(source.agent);
  for (const uint64_t rpc : open_[source.agent]) spoil(&entries_[rpc], "its process has ended");
  end_of_agent(source.agent, "");
  open_.erase(source.agent);
}

// What is open never ends. `why`: of all that is not written yet; "": of what is open alone.
void Assembler::end_of_agent(uint32_t agent, const std::string& why) {
  for (auto& [rpc, entry] : entries_) {
    if (entry.agent != agent) continue;
    if (!why.empty()) spoil(&entry, why);
    if (!entry.ended) end_entry(&entry, entry.received_ns);
  }
  for (auto& [rpc, call] : calls_) {
    if (call.agent != agent || call.ended) continue;
    call.ended = true;
    call.draft.finished_ns = call.draft.issued_ns;
    call.draft.ending.outcome = RpcOutcome::kGarbled;
  }
  open_[agent].clear();
}

void Assembler::spoil(Entry* entry, const std::string& why) {
  if (entry->problem.empty()) entry->problem = why;
}

void Assembler::spoil_open(uint32_t agent, const std::string& why) {
  for (const uint64_t rpc : open_[agent]) spoil(&entries_[rpc], why);
}

// --- what is complete -----------------------------------------------------------------------------

void Assembler::passed(uint64_t ns) {
  const std::lock_guard lock(mutex_);
  passed_ns_ = std::max(passed_ns_, ns);
  settle();
}

void Assembler::finish() {
  const std::lock_guard lock(mutex_);
  passed_ns_ = kEnd;
  finished_ = true;
  for (auto& [rpc, entry] : entries_) {
    if (!entry.ended) spoil(&entry, "the recording ended before its answer");
  }
  for (auto& [rpc, call] : calls_) {
    if (call.ended) continue;
    call.draft.finished_ns = call.draft.issued_ns;
    call.draft.ending.outcome = RpcOutcome::kGarbled;
  }
  settle();
}

bool Assembler::is_settled(uint64_t rpc, const Entry& entry) const {
  if (finished_) return true;
  if (!entry.ended) return false;
  uint64_t end = entry.ended_ns;
  if (const auto children = children_.find(rpc); children != children_.end()) {
    for (const uint64_t child : children->second) {
      const auto call = calls_.find(child);
      if (call == calls_.end()) continue;
      if (!call->second.ended) return false;
      end = std::max(end, call->second.draft.finished_ns);
    }
  }
  return passed_ns_ > kSettledNs && end < passed_ns_ - kSettledNs;
}

void Assembler::settle() {
  for (auto place = entries_.begin(); place != entries_.end();) {
    const auto next = std::next(place);
    if (is_settled(place->first, place->second)) {
      assemble(place->first, &place->second);
      children_.erase(place->first);
      open_[place->second.agent].erase(place->first);
      entries_.erase(place);
    }
    place = next;
  }
  std::vector<uint64_t> of_process;
  for (const auto& [rpc, call] : calls_) {
    const bool is_over =
        call.ended && passed_ns_ > kSettledNs && call.draft.finished_ns < passed_ns_ - kSettledNs;
    if (call.of_process && (is_over || finished_)) of_process.push_back(rpc);
  }
  std::sort(of_process.begin(), of_process.end(), [&](uint64_t a, uint64_t b) {
    return calls_.at(a).draft.issued_ns < calls_.at(b).draft.issued_ns;
  });
  for (const uint64_t rpc : of_process) assemble_process(rpc);
  collect_openings();
  forget();
}

Exchange Assembler::exchange_of(const std::optional<Place>& place) {
  Exchange none;
  none.problem = "where its bytes are was not told";
  if (!place) return none;
  const auto tape = tapes_.find({place->agent, place->connection});
  if (tape == tapes_.end()) return none;
  const size_t before = tape->second.kept();
  Exchange out = tape->second.take(place->number);
  kept_ -= before - tape->second.kept();
  return out;
}

void Assembler::assemble(uint64_t rpc, Entry* entry) {
  cases::Case value;
  value.service = options_.service;
  value.base_us = (static_cast<int64_t>(entry->received_ns) + options_.epoch_ns) / 1000;
  if (const auto name = names_.find(rpc); name != names_.end())
    std::tie(value.request.method, value.request.target) = name->second;
  spoil(entry, fill_entry(&value, exchange_of(entry->place)));
  if (entry->ended && entry->status == 0) spoil(entry, "it got no answer");
  if (entry->place && options_.port_name) {
    const auto tape = tapes_.find({entry->place->agent, entry->place->connection});
    if (tape != tapes_.end()) value.request.port = options_.port_name(tape->second.local_port());
  }
  std::vector<DraftCall> calls;
  for (const uint64_t child : children_[rpc]) {
    const auto call = calls_.find(child);
    if (call == calls_.end()) continue;
    DraftCall& draft = call->second.draft;
    std::string problem = fill_call(&draft, exchange_of(call->second.place));
    if (!call->second.ended) problem = "it was under way as the recording ended";
    if (!problem.empty()) {
      spoil(entry, "its call to " + draft.call.input.to + " (" + draft.method + " " + draft.target +
                       "): " + problem);
    }
    calls.push_back(std::move(draft));
    calls_.erase(call);
  }
  names_.erase(rpc);
  if (entry->is_no_case) return;
  if (value.request.method.empty()) value.request.method = "UNKNOWN";
  if (value.request.target.empty()) value.request.target = "/";
  value.partial = entry->problem;
  out_.cases.push_back(make_case(std::move(value), std::move(calls), options_.bounds));
}

void Assembler::assemble_process(uint64_t rpc) {
  CallState call = std::move(calls_.at(rpc));
  calls_.erase(rpc);
  const std::string problem = fill_call(&call.draft, exchange_of(call.place));
  if (!problem.empty() || !call.ended) {
    ++out_.partial_process_calls;
    return;
  }
  out_.process.push_back({std::move(call.draft.call), std::move(call.draft.stack)});
}

void Assembler::collect_openings() {
  for (auto& [name, tape] : tapes_) {
    const size_t before = tape.kept();
    for (cases::Opening& each : tape.take_openings())
      out_.openings[plain_name(tape.service(), "")].push_back(std::move(each));
    if (passed_ns_ > kSettledNs) tape.forget_before(passed_ns_ - kSettledNs);
    kept_ -= before - tape.kept();
  }
}

// Calls whose entry was written already, or is none of this recording, and connections that are over.
void Assembler::forget() {
  for (auto place = children_.begin(); place != children_.end();) {
    const auto next = std::next(place);
    if (!entries_.contains(place->first)) {
      std::erase_if(place->second, [&](uint64_t rpc) {
        const auto call = calls_.find(rpc);
        if (call == calls_.end()) return true;
        const bool is_over = call->second.ended && passed_ns_ > kSettledNs &&
                             call->second.draft.finished_ns < passed_ns_ - kSettledNs;
        if (!is_over && !finished_) return false;
        exchange_of(call->second.place);
        calls_.erase(call);
        ++out_.calls_without_case;
        return true;
      });
      if (place->second.empty()) children_.erase(place);
    }
    place = next;
  }
  std::erase_if(tapes_, [&](const auto& row) {
    const bool is_over = row.second.is_empty() || ended_agents_.contains(row.first.first);
    if (!is_over || row.second.has_claims()) return false;
    kept_ -= row.second.kept();
    return true;
  });
}

Assembled Assembler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(out_, {});
}

}  // namespace filibuster::record
