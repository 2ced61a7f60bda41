// What of an assembler is complete, and what is forgotten.
#include <algorithm>
#include <limits>
#include <tuple>

#include "daemon/record/assembler.h"

namespace filibuster::record {
namespace {

constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();

}  // namespace

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

// What went over a connection, and was told by no agent (its tables were full), may be a call of any request that was open then.
void Assembler::spoil_untold() {
  if (passed_ns_ <= kSettledNs) return;
  struct Untold {
    uint64_t begun_ns;
    std::string why;
  };
  std::map<uint32_t, std::vector<Untold>> by_agent;
  for (auto& [name, tape] : tapes_) {
    for (const ConnectionTape::Unclaimed& each : tape.take_unclaimed(passed_ns_ - kSettledNs)) {
      if (tape.is_server()) {
        ++out_.untold_requests;
      } else {
        by_agent[name.first].push_back(
            {each.begun_ns, "nothing was told of a call to " + plain_name(tape.service(), "") +
                                " (" + each.what + ") that was made while it was open"});
      }
    }
  }
  for (auto& [agent, all] : by_agent) {
    const auto earlier = [](const Untold& untold, uint64_t ns) { return untold.begun_ns < ns; };
    std::sort(all.begin(), all.end(),
              [](const Untold& one, const Untold& two) { return one.begun_ns < two.begun_ns; });
    for (auto& [rpc, entry] : entries_) {
      if (!concerns(agent, entry.agent)) continue;
      const auto first = std::lower_bound(all.begin(), all.end(), entry.received_ns, earlier);
      const bool was_open =
          first != all.end() && (!entry.ended || first->begun_ns <= entry.ended_ns);
      if (was_open) spoil(&entry, first->why);
    }
  }
}

void Assembler::settle() {
  spoil_untold();
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
    const cases::Answer& answer = draft.call.answer;
    // What came of it is not known: the reason names it.
    const bool is_known = draft.call.reply || answer.status != 0 || answer.silence ||
                          answer.ends != cases::Ends::kNone;
    if (!problem.empty()) {
      spoil(entry, "its call to " + draft.call.input.to + " (" + draft.method + " " + draft.target +
                       "): " + problem);
    }
    if (is_known) calls.push_back(std::move(draft));
    calls_.erase(call);
  }
  names_.erase(rpc);
  std::vector<DraftDraw> draws;
  if (const auto drawn = draws_.find(rpc); drawn != draws_.end()) {
    draws = std::move(drawn->second);
    draws_.erase(drawn);
  }
  if (entry->is_no_case) return;
  if (value.request.method.empty()) value.request.method = "UNKNOWN";
  if (value.request.target.empty()) value.request.target = "/";
  value.partial = entry->problem;
  out_.cases.push_back(
      make_case(std::move(value), std::move(calls), options_.bounds, entry->thread));
  out_.cases.back().draws = std::move(draws);
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
  // Of a request of which nobody has told, or whose case is written.
  std::erase_if(draws_, [&](const auto& row) {
    const uint64_t last_ns = row.second.back().ns;
    return !entries_.contains(row.first) && passed_ns_ > kSettledNs &&
           last_ns < passed_ns_ - kSettledNs;
  });
  std::erase_if(tapes_, [&](const auto& row) {
    const bool is_over = row.second.is_empty() || ended_agents_.contains(row.first.first);
    if (!is_over || row.second.has_claims()) return false;
    kept_ -= row.second.kept();
    return true;
  });
}

uint64_t Assembler::take_rpcs() {
  const std::lock_guard lock(mutex_);
  return std::exchange(rpcs_, 0);
}

Assembled Assembler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(out_, {});
}

}  // namespace filibuster::record
