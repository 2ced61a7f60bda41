// The record of an execution, made of what its agents reported.
#include <algorithm>
#include <utility>

#include "core/index/execution_index.h"
#include "daemon/agents/record_text.h"
#include "daemon/agents/recorder.h"
#include "daemon/agents/unmet_plan.h"

namespace filibuster {

// Numbers the RPCs as the agents count them: by the paths on the wire, since agents do not know final
// indexes.
void Recorder::number(const std::vector<const Entry*>& order,
                      std::unordered_map<uint64_t, RpcRecord>* finals) const {
  const bool by_stack = (index_parts_ & kIndexStack) != 0;
  Counts counted = taken_numbers_;
  for (const Entry* e : order) {
    RpcRecord& rpc = finals->at(e->record.rpc);
    const Hash128 service = hash_text(rpc.service);
    rpc.service_number = ++counted[call_place(e->wire_parent, service, Hash128{})];
    rpc.number = !by_stack || rpc.stack.is_zero()
                     ? rpc.service_number
                     : ++counted[call_place(e->wire_parent, service, rpc.stack)];
  }
}

Hash128 Recorder::counter(const Entry& entry) const {
  return combine(entry.record.signature,
                 (index_parts_ & kIndexPath) != 0 ? entry.record.parent_rpc : 0);
}

std::vector<const Recorder::Entry*> Recorder::resolve(
    std::unordered_map<uint64_t, RpcRecord>* finals) const {
  std::vector<const Entry*> order;
  for (const auto& [id, entry] : entries_) {
    if (entry.issued) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->record.issued_ns, a->record.rpc) <
           std::pair(b->record.issued_ns, b->record.rpc);
  });
  const auto issued = [this](uint64_t rpc) -> const Entry* {
    const auto place = entries_.find(rpc);
    return rpc != 0 && place != entries_.end() && place->second.issued ? &place->second : nullptr;
  };
  // A stream was counted when it was opened, among all RPCs whose payload was not known yet. It becomes
  // the k-th of its final signature: otherwise k would depend on the order in which concurrent streams
  // are opened.
  Counts counted = taken_counts_;
  for (const Entry* e : order) {
    if (e->finalized) continue;
    uint32_t& most = counted[counter(*e)];
    most = std::max(most, e->record.count);
  }
  std::vector<const Entry*> chain;
  for (const Entry* start : order) {
    // Goes up to a resolved ancestor, then down again. A chain longer than all RPCs is a circle, which
    // only a broken agent makes: there the indexes stay as the agents formed them.
    chain.clear();
    for (const Entry* e = start;
         e != nullptr && !finals->contains(e->record.rpc) && chain.size() <= order.size();
         e = issued(e->record.parent_rpc)) {
      chain.push_back(e);
    }
    for (; !chain.empty(); chain.pop_back()) {
      const Entry& e = *chain.back();
      RpcRecord rpc = e.record;
      rpc.parent = e.wire_parent;
      if (e.finalized) rpc.count = ++counted[counter(e)];
      const bool recounted = rpc.count != e.record.count && (index_parts_ & kIndexCount) != 0;
      if (recounted) rpc.index = extend_path(rpc.parent, rpc.signature, rpc.count, index_parts_);
      const auto parent = finals->find(rpc.parent_rpc);
      if (parent != finals->end()) {
        rpc.parent = parent->second.index;
        if (rpc.parent != e.wire_parent && (index_parts_ & kIndexPath) != 0) {
          rpc.index = extend_path(rpc.parent, rpc.signature, rpc.count, index_parts_);
        }
      }
      if (!e.planned_index.is_zero()) {
        rpc.index = e.planned_index;
        // The planned index contains the body of an earlier execution: this RPC would have sent it, too.
        if (rpc.body_sample.empty()) memory_.complete_body(&rpc);
      }
      rpc.incoming_open = !e.receivers.empty();
      if (unmet_.contains(rpc.rpc) || rpc.was_error_already) {
        rpc.injected = false;
        rpc.fault = {};
      }
      RpcRecord& place = (*finals)[rpc.rpc];
      place = named(std::move(rpc));
    }
  }
  number(order, finals);
  return order;
}

RpcRecord Recorder::named(RpcRecord rpc) const {
  // It was refused at connect, or a fault ended its handshake.
  if ((rpc.flags & kRpcOpensConnection) != 0 && rpc.method.empty()) memory_.complete(&rpc);
  return rpc;
}

// A name that nobody needed before it was there changes nothing: a test may listen at a new port each time.
bool Recorder::names_changed(const ExecutionRecord& record) const {
  return std::ranges::any_of(new_names_, [&](const NewName& name) {
    const std::string end = ":" + std::to_string(name.port);
    return std::ranges::any_of(record.rpcs, [&](const RpcRecord& rpc) {
      const bool there = name.port == 0 ? rpc.peer.starts_with("unix:") : rpc.peer.ends_with(end);
      return there && rpc.service != name.service;
    });
  });
}

ExecutionRecord Recorder::build() const {
  ExecutionRecord out = draft_;
  std::unordered_map<uint64_t, RpcRecord> finals;
  const std::vector<const Entry*> order = resolve(&finals);
  out.rpcs.reserve(order.size());
  for (const Entry* entry : order) {
    out.rpcs.push_back(std::move(finals.at(entry->record.rpc)));
    const RpcRecord& rpc = out.rpcs.back();
    if (rpc.open) out.still_open.push_back(rpc_text(rpc));
    if (rpc.incoming_open) {
      out.still_open.push_back(rpc.received_by + " has not answered " + rpc_text(rpc));
    }
  }
  for (const auto& [id, entry] : entries_) {
    if (entry.issued) continue;
    add_text(&out.notes, entry.first_source +
                             ": events of an RPC whose beginning was not reported (" +
                             number_text(id) + ")");
    if (!entry.receivers.empty()) {
      out.still_open.push_back(entry.record.received_by + " has not answered a request (" +
                               number_text(id) + ")");
    }
  }
  out.names_changed = names_changed(out);
  out.quiescent = quiet();
  return out;
}

void Recorder::explain_plan(ExecutionRecord* out) const {
  for (size_t i = 0; i < plan_.size(); ++i) {
    const Planned& planned = planned_[i];
    if (plan_[i].edge) {
      // One that was never armed was not asked for.
      if (!planned.armed || planned.fired > 0) continue;
      const std::string why = !planned.reason.empty()  ? planned.reason
                              : !planned.unmet.empty() ? planned.unmet
                                                       : "it was armed, and no such call came";
      out->not_injected.push_back(
          {planned.reason.empty() ? NoConclusion::kNotIssued : planned.cause,
           to_text(plan_[i].fault) + " at " + to_text(*plan_[i].edge) + ": " + why});
      continue;
    }
    const bool is_sequence = plan_[i].fault.kind == FaultKind::kAttempts;
    // A client may give up before its attempts are used up, which is its answer to the fault.
    if (is_sequence && planned.unmet.empty() && planned.attempts > 0) continue;
    const bool shared = planned.fired > 1 && !is_sequence && (index_parts_ & kIndexCount) != 0;
    if (planned.unmet.empty() && (planned.fired == 1 || (planned.fired > 1 && !shared))) continue;
    const auto rpc =
        std::find_if(out->rpcs.begin(), out->rpcs.end(),
                     [&](const RpcRecord& candidate) { return candidate.index == plan_[i].index; });
    const bool issued = rpc != out->rpcs.end();
    std::string reason(kNotIssued);
    NoConclusion cause = NoConclusion::kNotIssued;
    if (!planned.unmet.empty()) {
      reason = planned.unmet;
      // The text of an attempt begins with its number.
      cause = planned.cause != NoConclusion::kOther ? planned.cause : cause_of(reason);
    } else if (shared) {
      reason = "it fired at " + std::to_string(planned.fired) + " RPCs that share the index";
      cause = NoConclusion::kSharedIndex;
    } else if (!planned.reason.empty()) {
      reason = planned.reason;
      cause = planned.cause;
    } else if (expanded_.ambiguous[i]) {
      reason = "several requests share its preliminary index";
      cause = NoConclusion::kSharedPreliminary;
    } else if (issued && entries_.at(rpc->rpc).wire_index != rpc->index) {
      reason = "its request was sent before its body was known, by which it is told apart";
      cause = NoConclusion::kLateBody;
    } else if (issued) {
      cause = NoConclusion::kOther;
      reason = "its RPC was issued and no agent reported the fault";
    } else if (const auto expected = memory_.expected(plan_[i].index)) {
      reason = why_not_issued(*out, plan_[i], *expected, [&](const Hash128& index) {
        return memory_.is_newer(index, plan_[i].index);
      });
    }
    out->not_injected.push_back({cause, to_text(plan_[i].fault) + " at " +
                                            memory_.describe(plan_[i].index) + ": " + reason});
  }
}

ExecutionRecord Recorder::snapshot() const {
  return build();
}

ExecutionRecord Recorder::take_ended(uint64_t before_ns) {
  ExecutionRecord out = build();
  std::unordered_map<uint64_t, uint64_t> first;  // RPC -> the first one of its tree
  std::unordered_set<uint64_t> goes_on;          // the first ones of trees that are not over
  first.reserve(out.rpcs.size());
  for (const RpcRecord& rpc : out.rpcs) {
    const auto parent = first.find(rpc.parent_rpc);
    const uint64_t root = parent == first.end() ? rpc.rpc : parent->second;
    first.emplace(rpc.rpc, root);
    if (rpc.open || rpc.incoming_open || rpc.finished_ns >= before_ns) goes_on.insert(root);
  }
  for (const RpcRecord& rpc : out.rpcs) {
    if (goes_on.contains(first.at(rpc.rpc))) continue;
    const auto entry = entries_.find(rpc.rpc);
    remember(rpc, entry->second);
    keep_counts(rpc, entry->second);
    late_rpcs_.insert(rpc.rpc);
    entries_.erase(entry);
  }
  return out;
}

// What an RPC has caused is counted below it, and its whole tree is taken at once.
void Recorder::keep_counts(const RpcRecord& rpc, const Entry& entry) {
  if (rpc.parent_rpc != 0 && (index_parts_ & kIndexPath) != 0) return;
  const auto keep = [](uint32_t& most, uint32_t count) { most = std::max(most, count); };
  keep(taken_counts_[counter(entry)], rpc.count);
  const Hash128 service = hash_text(rpc.service);
  keep(taken_numbers_[call_place(entry.wire_parent, service, Hash128{})], rpc.service_number);
  if ((index_parts_ & kIndexStack) != 0 && !rpc.stack.is_zero())
    keep(taken_numbers_[call_place(entry.wire_parent, service, rpc.stack)], rpc.number);
}

void Recorder::remember(const RpcRecord& rpc, const Entry& entry) {
  // What memory itself has completed says nothing of when a body is known: the request was never formed.
  if (entry.record.method.empty()) return;
  const bool before_body = entry.finalized || (rpc.flags & kRpcPreliminary) != 0;
  memory_.remember(rpc, {entry.wire_index, entry.wire_parent, entry.wire_signature,
                         entry.record.count, before_body});
}

ExecutionRecord Recorder::end(uint64_t now_ns) {
  ExecutionRecord out = build();
  out.ended_ns = now_ns;
  explain_plan(&out);
  memory_.next_execution();
  for (const RpcRecord& rpc : out.rpcs) remember(rpc, entries_.at(rpc.rpc));
  running_ = false;
  draft_ = {};
  new_names_.clear();
  entries_.clear();
  late_rpcs_.clear();
  silent_commands_.clear();
  open_rpcs_ = 0;
  open_incoming_ = 0;
  return out;
}

}  // namespace filibuster
