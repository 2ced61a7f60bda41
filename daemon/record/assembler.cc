#include "daemon/record/assembler.h"

#include <algorithm>

namespace filibuster::record {
namespace {

constexpr size_t kMostNames = 1u << 16;
constexpr int kMostParts = 64;  // one behind the other

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
  if (is_part(source.service)) {
    agents_of_parts_.insert(source.agent);
    // What a part is asked is no case.
    if (type == EventType::kRpcReceived || type == EventType::kIncomingFinished) return;
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
  ++rpcs_;
  const bool comes_in = event.service == options_.service && source.service != options_.service;
  if (event.service == options_.service && (is_entry || comes_in)) note_name(event);
  if (is_entry || comes_in || !is_ours(source)) return;
  if (is_part(event.service)) return join_part(event);
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
  draft.is_grpc = (event.flags & kRpcGrpc) != 0;
  join_cause(source, event, &call);
}

// The call itself is nothing that a replay answers. What the part calls for it is called for the request that led to it.
void Assembler::join_part(const RpcIssued& event) {
  if (event.parent_rpc == 0 || !of_parts_.try_emplace(event.rpc, event.parent_rpc).second) return;
  of_parts_in_order_.push_back(event.rpc);
  if (of_parts_in_order_.size() > kMostNames) {
    of_parts_.erase(of_parts_in_order_.front());
    of_parts_in_order_.pop_front();
  }
  // The agent of the part may have told of these before.
  const auto early = children_.find(event.rpc);
  if (early == children_.end()) return;
  const std::vector<uint64_t> calls = std::move(early->second);
  children_.erase(early);
  std::vector<uint64_t>& all = children_[cause_through_parts(event.parent_rpc)];
  all.insert(all.end(), calls.begin(), calls.end());
}

uint64_t Assembler::cause_through_parts(uint64_t rpc) const {
  for (int i = 0; i < kMostParts; ++i) {
    const auto part = of_parts_.find(rpc);
    if (part == of_parts_.end()) break;
    rpc = part->second;
  }
  return rpc;
}

bool Assembler::is_any_open(uint32_t agent) const {
  return std::any_of(open_.begin(), open_.end(), [&](const auto& row) {
    return concerns(agent, row.first) && !row.second.empty();
  });
}

void Assembler::join_cause(const EventSource& source, const RpcIssued& event, CallState* call) {
  if (event.parent_rpc != 0) {
    std::vector<uint64_t>& calls = children_[cause_through_parts(event.parent_rpc)];
    if (calls.size() <= options_.bounds.most_calls) return calls.push_back(event.rpc);
    // There is one more than a case may have, so that it says so.
    calls_.erase(event.rpc);
    ++out_.calls_without_case;
    return;
  }
  // No request led to it where none is open, or where the runtime says so.
  call->of_process = (event.flags & kRpcBackground) != 0 || !is_any_open(source.agent);
  if (call->of_process) {
    of_process_.insert(event.rpc);
    return;
  }
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
  entry.thread = uint64_t{source.agent} << 32 | event.thread;
  entry.is_no_case =
      options_.startup_execution != 0 && head.execution == options_.startup_execution;
  for (const auto& [agent, why] : blind_) {
    if (concerns(agent, source.agent)) spoil(&entry, why);
  }
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
  // Between the service and its parts, and to parts, nothing is recorded.
  const bool is_inner = event.server != 0
                            ? is_part(source.service)
                            : is_part(event.service) ||
                                  (is_part(source.service) && event.service == options_.service);
  if (is_inner) of.lose("it is a connection of a part of the service");
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
  if (event.outgoing != 0 ? is_part(event.service) : is_part(source.service)) return;
  const std::string what =
      connection_text(event.service, event.peer) + ": " + std::string(reason_name(event.reason));
  out_.not_followed.insert((event.outgoing != 0 ? "to " : "from ") + what);
  if (event.outgoing == 0 || event.reason == NotInterposedReason::kUdp) return;
  const std::string why = "not all that the service asks is followed: the connection to " + what;
  spoil_open(source.agent, why);
  if (stays_unseen(event.reason)) blind_.try_emplace(source.agent, why);
}

void Assembler::on(const EventSource& source, const EventHead&, const UnseenRequests& event) {
  if (is_part(event.service)) return;
  spoil_open(source.agent, "requests to " + connection_text(event.service, event.peer) +
                               " went over a connection that was open before");
}

ConnectionTape& Assembler::tape(const EventSource& source, uint64_t connection) {
  return tapes_[{source.agent, connection}];
}

// What is under way in all has a bound: the connection that exceeds it is not read any more.
void Assembler::bound_tape(ConnectionTape* of, size_t before) {
  kept_ = kept_ + of->kept() - before;
  if (kept_ <= options_.most_kept) return;
  const size_t kept = of->kept();
  of->lose("more was under way than is kept (" + std::to_string(options_.most_kept >> 20) +
           " MiB)");
  kept_ -= kept - of->kept();
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

// Those of the start are kept of the process: what it draws for no request later on depends on when that is.
void Assembler::draw(const EventSource& source, const EventHead& head, const TapeDraw& record) {
  const std::lock_guard lock(mutex_);
  if (source.service != options_.service) return;
  const bool of_start =
      options_.startup_execution != 0 && head.execution == options_.startup_execution;
  if (record.rpc == 0 && !of_start) return;
  DraftDraw out;
  out.draw.source = draw_source_name(static_cast<DrawSource>(record.source));
  out.draw.bytes.assign(record.bytes.begin(), record.bytes.end());
  out.stack = frames_of(record.site);
  out.ns = head.time_ns;
  std::vector<DraftDraw>& all = record.rpc == 0 ? out_.process_draws : draws_[record.rpc];
  if (all.size() < kMaxDraws) all.push_back(std::move(out));
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
    if (!why.empty() && concerns(agent, entry.agent)) spoil(&entry, why);
    if (entry.agent == agent && !entry.ended) end_entry(&entry, entry.received_ns);
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
  for (const auto& [other, rpcs] : open_) {
    if (!concerns(agent, other)) continue;
    for (const uint64_t rpc : rpcs) spoil(&entries_[rpc], why);
  }
}

}  // namespace filibuster::record
