#include "daemon/agents/recorder.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/index/execution_index.h"
#include "daemon/agents/record_text.h"
#include "daemon/agents/registration.h"
#include "daemon/agents/unmet_plan.h"
#include "daemon/model/call_name.h"

namespace filibuster {
namespace {

// An agent that floods makes the execution incomplete, not this process large.
constexpr size_t kMaxRpcs = 1u << 20;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

// False: the bytes are cut short.
bool read_leaves(std::string_view bytes, std::vector<std::pair<std::string, uint64_t>>* out) {
  while (!bytes.empty()) {
    uint64_t value = 0;
    uint16_t length = 0;
    if (bytes.size() < sizeof value + sizeof length) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    std::memcpy(&length, bytes.data() + sizeof value, sizeof length);
    bytes.remove_prefix(sizeof value + sizeof length);
    if (bytes.size() < length) return false;
    out->emplace_back(bytes.substr(0, length), value);
    bytes.remove_prefix(length);
  }
  return true;
}

// All samples of a request are beginnings of the same body, so the longest is kept, in whatever order
// they are read.
void take_body(RpcRecord* rpc, std::string_view sample) {
  if (sample.size() > rpc->body_sample.size()) rpc->body_sample = sample;
}

// "name: value", one a line.
void take_told(RpcRecord* rpc, std::string_view lines) {
  for (const std::string& line : split_lines(lines)) {
    if (const size_t colon = line.find(": "); colon != line.npos)
      rpc->told.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
}

// Has the RPC a caller without an agent? Nobody reports its end then but the service that received it.
bool formed_on_arrival(const RpcRecord& rpc) {
  return (rpc.flags & kRpcEntry) != 0;
}

// Of an event that only a recording asks for.
template <typename Event>
bool is_whole(std::span<const uint8_t> payload) {
  Event event;
  return decode(payload.data(), payload.size(), &event);
}

template <typename Event>
constexpr bool kOfItsIssuer =
    std::is_same_v<Event, RpcIssued> || std::is_same_v<Event, RpcFinished> ||
    std::is_same_v<Event, FaultFired> || std::is_same_v<Event, RpcFinalized> ||
    std::is_same_v<Event, RpcFields> || std::is_same_v<Event, RpcBody>;

}  // namespace

void Recorder::begin(uint32_t execution, const std::vector<PlannedRpcFault>& plan,
                     RpcMemory::Plan expanded, uint64_t now_ns) {
  entries_.clear();
  late_rpcs_.clear();
  taken_counts_.clear();
  taken_numbers_.clear();
  silent_commands_.clear();
  open_rpcs_ = 0;
  open_incoming_ = 0;
  plan_ = plan;
  expanded_ = std::move(expanded);
  planned_.assign(plan_.size(), {});
  unmet_.clear();
  draft_.execution = execution;
  draft_.started_ns = now_ns;
  running_ = true;
}

uint32_t Recorder::arm_of(size_t number) const {
  if (number >= plan_.size() || !plan_[number].edge) return 0;
  // As the rows with an edge are counted when the plan is written; what expand() adds comes behind them.
  return static_cast<uint32_t>(
      std::count_if(plan_.begin(), plan_.begin() + static_cast<std::ptrdiff_t>(number) + 1,
                    [](const PlannedRpcFault& row) { return row.edge.has_value(); }));
}

template <typename Event>
bool Recorder::take(const EventSource& source, const EventHead& head,
                    std::span<const uint8_t> payload) {
  Event event;
  if (!decode(payload.data(), payload.size(), &event)) return false;
  // These events must come from the agent that issued the RPC: its id is the upper half of the RPC's.
  if constexpr (kOfItsIssuer<Event>) {
    if (event.rpc >> 32 != source.agent) return false;
  }
  on(source, head, event);
  return true;
}

bool Recorder::event(const EventSource& source, const EventHead& head,
                     std::span<const uint8_t> payload) {
  switch (static_cast<EventType>(head.type)) {
    case EventType::kRpcIssued:
      return take<RpcIssued>(source, head, payload);
    case EventType::kRpcReceived:
      return take<RpcReceived>(source, head, payload);
    case EventType::kRpcFinished:
      return take<RpcFinished>(source, head, payload);
    case EventType::kIncomingFinished:
      return take<IncomingFinished>(source, head, payload);
    case EventType::kFaultFired:
      return take<FaultFired>(source, head, payload);
    case EventType::kNotInterposed:
      return take<NotInterposed>(source, head, payload);
    case EventType::kRpcFinalized:
      return take<RpcFinalized>(source, head, payload);
    case EventType::kNote:
      return take<Note>(source, head, payload);
    case EventType::kRpcFields:
      return take<RpcFields>(source, head, payload);
    case EventType::kUnseenRequests:
      return take<UnseenRequests>(source, head, payload);
    case EventType::kRpcBody:
      return take<RpcBody>(source, head, payload);
    case EventType::kConnectionSeen:
      return is_whole<ConnectionSeen>(payload);
    case EventType::kRpcAt:
      return is_whole<RpcAt>(payload);
    case EventType::kListen:
    case EventType::kNoLimit:
    case EventType::kFiller:
      return true;  // the hub reads kListen, for its table of targets, and kNoLimit, for its hand-offs
  }
  return true;  // an event of a later minor version
}

Recorder::Entry* Recorder::entry(const EventSource& source, const EventHead& head, uint64_t rpc) {
  if (!running_ || head.execution != draft_.execution || late_rpcs_.contains(rpc)) return nullptr;
  if (entries_.size() >= kMaxRpcs && !entries_.contains(rpc)) {
    lost("the execution has more than " + std::to_string(kMaxRpcs) + " RPCs");
    return nullptr;
  }
  const auto [place, added] = entries_.try_emplace(rpc);
  if (added) {
    place->second.record.rpc = rpc;
    place->second.record.open = false;
    place->second.first_source = source.name();
  }
  return &place->second;
}

void Recorder::note_late(std::string text) {
  add_text(&draft_.late, std::move(text));
}
void Recorder::lost(const std::string& why, NoConclusion cause, uint64_t events) {
  note(why);
  draft_.lost_events += events;
  if (!draft_.lost_why.empty()) return;
  draft_.lost_why = why;
  draft_.lost_cause = cause;
}

void Recorder::lost_by_agents(uint64_t times, Incomplete why) {
  if (times == 0) return;
  draft_.lost_events += times;
  if (!draft_.lost_why.empty()) return;
  draft_.lost_why = incomplete_text(why);
  draft_.lost_cause = why == Incomplete::kReadBeforeFault ? NoConclusion::kAnsweredEarly
                                                          : NoConclusion::kEventsLost;
}

void Recorder::note(std::string text) {
  add_text(&draft_.notes, std::move(text));
}
void Recorder::problem(std::string text) {
  add_text(&draft_.runtime_problems, std::move(text));
}

void Recorder::finish(Entry* entry, uint64_t now_ns) {
  entry->finished = true;
  if (!entry->record.open) return;
  entry->record.open = false;
  entry->record.finished_ns = now_ns;
  --open_rpcs_;
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcIssued& event) {
  const bool other = !running_ || head.execution != draft_.execution;
  if (other || (event.flags & kRpcLate) != 0) {
    if (!other) late_rpcs_.insert(event.rpc);
    add_text(&draft_.late_calls,
             source.service + " -> " + printable(event.service) + " " +
                 call_name(printable(event.method),
                           path_of(printable(event.target), protocol_of(event.flags)),
                           protocol_of(event.flags)));
    return;
  }
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  if (entry->issued) {
    // One of them is not in the record.
    lost(source.name() + ": two RPCs were reported under one id (" + number_text(event.rpc) + ")");
    return;
  }
  entry->issued = true;
  entry->issuer = source.agent;
  RpcRecord& rpc = entry->record;
  rpc.parent_rpc = event.parent_rpc;
  // What kRpcFinalized and kRpcBody said, if they were read first, is not undone.
  rpc.flags |= event.flags;
  if (!entry->finalized) {
    rpc.index = event.index;
    rpc.signature = event.signature;
    rpc.payload = event.payload;
  } else {
    rpc.flags = static_cast<uint16_t>(rpc.flags & ~kRpcPreliminary);
  }
  entry->wire_index = event.index;
  entry->wire_parent = event.parent_path;
  entry->wire_signature = event.signature;
  rpc.stack = event.stack;
  rpc.connect_key = event.connect_key;
  rpc.request_id = event.request_id;
  rpc.request_id_name = printable(event.request_id_name);
  rpc.count = event.count;
  rpc.cause = event.cause;
  rpc.pid = source.pid;
  rpc.thread = event.thread;
  rpc.issued_ns = head.time_ns;
  // The caller of an entry carries no agent: nobody knows its name.
  if (!formed_on_arrival(rpc)) rpc.caller = source.service;
  rpc.service = event.service;
  rpc.method = event.method;
  rpc.target = event.target;
  take_body(&rpc, event.body);
  take_told(&rpc, event.told);
  rpc.peer = event.peer;
  rpc.stack_text = split_lines(event.stack_text);
  if (!entry->finished) {
    rpc.open = true;
    ++open_rpcs_;
  }
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcReceived& event) {
  if (running_ && head.execution != draft_.execution) {
    note_late(source.name() + " received a request of an older execution (" +
              std::to_string(head.execution) + ")");
    return;
  }
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  if (entry->record.received_by.empty()) entry->record.received_by = source.service;
  if (entry->early_ends > 0) {
    --entry->early_ends;
    return;
  }
  entry->receivers.push_back(source.agent);
  ++open_incoming_;
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcFinished& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr || entry->finished) return;
  finish(entry, head.time_ns);
  RpcRecord& rpc = entry->record;
  rpc.finished_ns = head.time_ns;
  rpc.outcome = event.outcome;
  rpc.status = event.status;
  rpc.grpc_status = event.grpc_status;
  rpc.grpc_message = event.grpc_message;
  rpc.code_space = event.code_space;
  rpc.code = printable(event.code);
  rpc.begun = event.begun;
  rpc.error = event.error;
  rpc.stream_error = event.stream_error;
  rpc.response = event.body;
  rpc.response_size = event.body_size;
  rpc.response_sample = event.body_sample;
  if (event.injected != 0) rpc.injected = true;
  rpc.elapsed = event.injected == 2;
}

void Recorder::close_entry_call(Entry* entry, uint64_t now_ns) {
  if (entry->issued && formed_on_arrival(entry->record)) finish(entry, now_ns);
}

void Recorder::on(const EventSource& source, const EventHead& head, const IncomingFinished& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  entry->replied |= event.status != 0;
  auto& receivers = entry->receivers;
  if (receivers.empty()) {
    ++entry->early_ends;
  } else {
    // The request of the agent that reports the end. Where it has none (the request was read in a parent
    // process and answered in its child), that of any agent.
    auto place = std::find(receivers.begin(), receivers.end(), source.agent);
    receivers.erase(place == receivers.end() ? receivers.begin() : place);
    --open_incoming_;
  }
  // A client may give up a command that stays unanswered, and keep its connection. It has done so when
  // the incoming request that caused the command is over.
  for (const uint64_t silent : silent_commands_) {
    Entry& command = entries_.at(silent);
    if (command.finished || command.record.parent_rpc != event.rpc) continue;
    command.record.outcome = RpcOutcome::kTimedOut;
    finish(&command, head.time_ns);
  }
  if (entry->issued && formed_on_arrival(entry->record) && !entry->finished) {
    entry->record.outcome = event.status != 0 ? RpcOutcome::kAnswered : RpcOutcome::kClosed;
    entry->record.status = event.status;
    entry->record.grpc_status = event.grpc_status;
    close_entry_call(entry, head.time_ns);
  }
}

void Recorder::on(const EventSource& source, const EventHead& head, const FaultFired& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  if (event.plan_entry >= expanded_.rows.size()) {
    lost(source.name() + ": a fault fired that is not in the plan");
    return;
  }
  const size_t number = expanded_.planned[event.plan_entry];
  Planned& planned = planned_[number];
  const auto how = static_cast<FaultHow>(event.how);
  const std::string detail = printable(event.detail);
  const PlannedRpcFault& row = expanded_.rows[event.plan_entry];
  if (event.attempt != 0) {
    planned.attempts = std::max(planned.attempts, event.attempt);
    entry->record.attempt = event.attempt;
    entry->record.attempt_of = plan_[number].index;
    entry->record.grouped_by = event.grouped_by;
    // The first attempt was found under a preliminary index; the plan knows the final one.
    if (event.attempt == 1 && entry->wire_index != plan_[number].index)
      entry->planned_index = plan_[number].index;
  }
  if (how == FaultHow::kAttemptPasses) return;
  if (how == FaultHow::kInjected || how == FaultHow::kResetInsteadOfRefused) {
    ++planned.fired;
    entry->record.injected = true;
    entry->record.fault = row.fault;
    const FaultKind kind = entry->record.fault.kind;
    if ((kind == FaultKind::kTimeout || kind == FaultKind::kLatency) &&
        entry->record.protocol() == Protocol::kRedis)
      silent_commands_.push_back(event.rpc);
    // The fault fired under a preliminary index; the plan knows the final one.
    if (event.plan_entry >= plan_.size() && !row.is_item)
      entry->planned_index = plan_[number].index;
    return;
  }
  if (how == FaultHow::kRefusedAfterAll) {
    entry->record.outcome = RpcOutcome::kRefused;
    return;
  }
  if (how == FaultHow::kHitAnother) {
    planned.unmet = detail + " (" + rpc_text(entry->record) + ")";
    return;
  }
  // A sequence has begun: that an attempt of it did not get its outcome is not made up for by the others.
  if (event.attempt != 0)
    planned.unmet = "attempt " + std::to_string(event.attempt) + " of its sequence: " +
                    (detail.empty() ? "its agent could not inject it" : detail);
  planned.reason = how == FaultHow::kLeaseExpired ? "the daemon's lease is older than 1 s"
                   : !detail.empty()              ? detail
                                                  : "its agent could not inject it";
  planned.cause = how == FaultHow::kLeaseExpired ? NoConclusion::kBusyMachine : cause_of(detail);
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcFinalized& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  entry->finalized = true;
  RpcRecord& rpc = entry->record;
  rpc.payload = event.payload;
  rpc.signature = event.signature;
  rpc.index = event.index;
  rpc.flags = static_cast<uint16_t>(rpc.flags & ~kRpcPreliminary);
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcBody& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  take_body(&entry->record, event.body);
  if (event.truncated != 0) entry->record.flags |= kRpcPayloadTruncated;
}

void Recorder::on(const EventSource& source, const EventHead& head, const RpcFields& event) {
  Entry* entry = this->entry(source, head, event.rpc);
  if (entry == nullptr) return;
  BodyFields& fields =
      event.response != 0 ? entry->record.response_fields : entry->record.request_fields;
  fields = {};
  fields.known = true;
  fields.form = static_cast<BodyForm>(event.form);
  fields.size = event.size;
  fields.plain = event.plain;
  fields.whole = event.whole != 0 && read_leaves(event.leaves, &fields.leaves);
}

void Recorder::on(const EventSource& source, const EventHead&, const NotInterposed& event) {
  NotInterposedRecord record;
  record.service = source.service;
  record.peer = printable(event.peer);
  record.target_service = printable(event.service);
  record.reason = reason_name(event.reason);
  record.outgoing = event.outgoing != 0;
  for (NotInterposedRecord& known : draft_.not_interposed) {
    if (known.service == record.service && known.peer == record.peer &&
        known.target_service == record.target_service && known.reason == record.reason &&
        known.outgoing == record.outgoing) {
      ++known.times;
      return;
    }
  }
  if (draft_.not_interposed.size() < kMaxTexts) draft_.not_interposed.push_back(std::move(record));
}

void Recorder::on(const EventSource& source, const EventHead& head, const UnseenRequests& event) {
  if (!running_ || head.execution != draft_.execution) return;
  const std::string peer = printable(event.peer);
  for (UnseenRecord& known : draft_.unseen) {
    if (known.service == source.service && known.peer == peer) {
      known.requests += event.count;
      return;
    }
  }
  if (draft_.unseen.size() < kMaxTexts)
    draft_.unseen.push_back({source.service, peer, printable(event.service), event.count});
}

void Recorder::on(const EventSource& source, const EventHead&, const Note& event) {
  // Every process of a service says the same of its runtime: once is enough.
  if (event.kind == NoteKind::kRuntime) {
    problem(source.service + ": " + printable(event.text));
  } else {
    note(source.name() + ": " + printable(event.text));
  }
}

void Recorder::agent_ended(const EventSource& source, uint64_t now_ns) {
  uint64_t calls = 0;
  uint64_t requests = 0;
  for (auto& [id, entry] : entries_) {
    const auto gone = std::remove(entry.receivers.begin(), entry.receivers.end(), source.agent);
    const auto ended = static_cast<uint64_t>(entry.receivers.end() - gone);
    entry.receivers.erase(gone, entry.receivers.end());
    open_incoming_ -= ended;
    requests += ended;
    if (ended > 0) close_entry_call(&entry, now_ns);
    if (entry.issuer != source.agent || !entry.record.open) continue;
    finish(&entry, now_ns);
    ++calls;
  }
  if (calls + requests == 0) return;
  note(source.name() + ": process ended with " + std::to_string(calls) +
       (calls == 1 ? " RPC and " : " RPCs and ") + std::to_string(requests) +
       (requests == 1 ? " incoming request open" : " incoming requests open"));
}

void Recorder::hang_limit(uint32_t execution, uint64_t rpc, const HangLimit& limit) {
  if (!running_ || execution != draft_.execution) return;
  const auto place = entries_.find(rpc);
  if (place == entries_.end()) return;
  RpcRecord& record = place->second.record;
  record.hang_limit = limit;
  // Clients that give up may keep the connection (streams of HTTP/2, sockets that a JVM frees later).
  const auto cause = entries_.find(record.parent_rpc);
  const bool cause_is_over = cause != entries_.end() && cause->second.receivers.empty() &&
                             !cause->second.record.received_by.empty();
  if (limit.waited_on() && limit.reached != HangLimit::Reached::kNoLimit && cause_is_over)
    record.hang_limit.reached =
        cause->second.replied ? HangLimit::Reached::kLeftOpen : HangLimit::Reached::kOutlived;
  note(rpc_text(named(record)) + ": " + to_text(record.hang_limit));
}

void Recorder::spared(uint32_t execution, uint64_t rpc) {
  if (!running_ || execution != draft_.execution) return;
  const auto place = entries_.find(rpc);
  if (place != entries_.end()) place->second.record.was_error_already = true;
}

void Recorder::passed(uint32_t execution, uint64_t rpc, const PassedAnswer& answer,
                      uint64_t now_ns) {
  if (!running_ || execution != draft_.execution) return;
  const auto place = entries_.find(rpc);
  if (place == entries_.end()) return;
  Entry& entry = place->second;
  finish(&entry, now_ns);
  RpcRecord& record = entry.record;
  record.finished_ns = now_ns;
  record.outcome = RpcOutcome::kAnswered;
  record.status = answer.status;
  record.grpc_status = answer.grpc_status;
  record.response = answer.body;
  record.response_size = answer.body_size;
  record.response_sample = answer.body_sample;
  record.error = 0;
  record.was_error_already = true;
}

void Recorder::unmet(uint32_t execution, uint64_t rpc, uint32_t plan_entry,
                     const std::string& why) {
  if (!running_ || execution != draft_.execution || plan_entry >= expanded_.planned.size()) return;
  unmet_.insert(rpc);
  planned_[expanded_.planned[plan_entry]].unmet = why;
}

}  // namespace filibuster
