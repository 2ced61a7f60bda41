// RPCs that come in some executions only: a cache that is warm, a counter, a queue. They are counted in all executions. One that
// has come a second time gets its faults, in executions that are tried a few times, since it need not come in each.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/explore/explorer.h"
#include "daemon/explore/nondeterminism.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

// So many executions without faults tell what never comes again from what comes and goes.
constexpr size_t kToTellApart = 4;
// So many executions in a row that were to have a fault at the RPC, and in which it did not come: no further one is tried
// until it is seen again.
constexpr uint32_t kMostMisses = 4;
// RPCs that are counted. An application whose paths vary has new ones in each execution, which never come again.
constexpr size_t kMostCounted = 10'000;

// The count of `key`; nullptr: there is no room for another one.
template <typename Key>
uint32_t* counted(std::map<Key, uint32_t>* counts, const Key& key) {
  const auto known = counts->find(key);
  if (known != counts->end()) return &known->second;
  return counts->size() < kMostCounted ? &(*counts)[key] : nullptr;
}

}  // namespace

// Adds reference executions where something comes in some of them only. False: stopped.
Result<bool> Explorer::tell_apart(const Nondeterminism& found, std::vector<ExecutionResult>* runs) {
  const bool any = std::any_of(found.variations.begin(), found.variations.end(),
                               [](const Variation& variation) { return variation.comes_and_goes; });
  if (!any || runs->size() >= kToTellApart) return true;
  return repeat_reference(kToTellApart, runs);
}

// Counts what comes in some executions only; of each execution that was seen whole.
void Explorer::note_appearances(const ExecutionRecord& record) {
  if (!unstable_.has_sometimes()) return;
  ++appearances_.executions;
  std::set<std::string> calls;
  std::set<Hash128> indexes;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0 || unstable_.comes_sometimes(rpc) == nullptr) continue;
    calls.insert(describe_rpc(rpc, masks_));
    indexes.insert(rpc.index);
  }
  for (const std::string& call : calls)
    if (uint32_t* times = counted(&appearances_.calls, call)) ++*times;
  for (const Hash128 index : indexes) {
    misses_.erase(index);
    uint32_t* times = counted(&appearances_.indexes, index);
    if (times != nullptr && ++*times == 2) comes_again(record, index);
  }
}

void Explorer::comes_again(const ExecutionRecord& record, Hash128 index) {
  unstable_.comes_again(index);
  appearances_.kept = false;
  const auto rpc = std::find_if(record.rpcs.begin(), record.rpcs.end(),
                                [&](const RpcRecord& one) { return one.index == index; });
  evidence_.comes_again(describe_rpc(*rpc, masks_));
}

// Called after each execution, and writes where a resumed exploration would go on otherwise. `all`: the counts, too, which
// change with each.
Result<void> Explorer::keep_appearances(bool all) {
  if (!unstable_.has_sometimes() || (appearances_.kept && !all)) return {};
  appearances_.kept = true;
  Json indexes = Json::object();
  for (const auto& [index, times] : appearances_.indexes) indexes[to_hex(index)] = times;
  if (auto saved = store_->save(Saved::kUnstable, unstable_.to_json()); !saved) return saved;
  return store_->save(Saved::kAppearances, dump_json(Json{{"executions", appearances_.executions},
                                                          {"calls", appearances_.calls},
                                                          {"indexes", std::move(indexes)}}));
}

Result<void> Explorer::load_appearances() {
  auto text = store_->saved(Saved::kAppearances);
  if (!text) return text.error();
  if (!text.value()) return {};
  try {
    const Json json = Json::parse(*text.value());
    appearances_.executions = json.at("executions").get<uint32_t>();
    appearances_.calls = json.at("calls").get<std::map<std::string, uint32_t>>();
    for (const auto& [hex, times] : json.at("indexes").items()) {
      Hash128 index;
      if (from_hex(hex, &index)) appearances_.indexes[index] = times.get<uint32_t>();
    }
  } catch (const Json::exception&) {
    return Error{"the store's count of RPCs that come and go is damaged"};
  }
  return {};
}

// The reference execution that shows most of what comes and goes: its single faults are scheduled from it.
size_t Explorer::reference_to_take(const std::vector<ExecutionResult>& runs) const {
  size_t best = 0;
  std::ptrdiff_t most = 0;
  for (size_t i = 0; i < runs.size() && unstable_.has_recurring(); ++i) {
    const std::vector<RpcRecord>& rpcs = runs[i].record.rpcs;
    const auto shown = std::count_if(rpcs.begin(), rpcs.end(), [&](const RpcRecord& rpc) {
      return unstable_.is_recurring(rpc.index);
    });
    if (shown <= most) continue;
    most = shown;
    best = i;
  }
  return best;
}

// The planned RPC that comes in some executions only and did not come in this one; nullptr: none.
const InjectedFault* Explorer::did_not_come(const Dispatcher::Job& job,
                                            const ExecutionRecord& record) const {
  if (!unstable_.has_recurring()) return nullptr;
  const auto missing = std::find_if(job.faults.begin(), job.faults.end(), [&](const auto& fault) {
    return unstable_.is_recurring(fault.index) &&
           std::none_of(record.rpcs.begin(), record.rpcs.end(),
                        [&](const RpcRecord& rpc) { return rpc.index == fault.index; });
  });
  return missing == job.faults.end() ? nullptr : &*missing;
}

// The job is not executed: an RPC of it did not come when it was to have a fault, and was not seen since.
const InjectedFault* Explorer::given_up(const Dispatcher::Job& job) const {
  const auto gone = std::find_if(job.faults.begin(), job.faults.end(), [&](const auto& fault) {
    const auto misses = misses_.find(fault.index);
    return misses != misses_.end() && misses->second >= kMostMisses;
  });
  return gone == job.faults.end() ? nullptr : &*gone;
}

// Runs the job until what comes in some executions only has come. `*attempt` is the last of them.
Result<void> Explorer::wait_for_what_comes(const Dispatcher::Job& job, Attempt* attempt) {
  while (attempt->judgement.verdict == Verdict::kPlanNotMet && !attempt->result.stopped) {
    const InjectedFault* missing = did_not_come(job, attempt->result.record);
    if (missing == nullptr) return {};
    note_appearances(attempt->result.record);
    uint32_t& misses = misses_[missing->index];
    misses += static_cast<uint32_t>(attempt->number);  // each of them was without it
    if (misses >= kMostMisses) return {};
    auto again = this->attempt(job.plan);
    if (!again) return again.error();
    *attempt = std::move(again).value();
  }
  return {};
}

Result<void> Explorer::leave_out(const Dispatcher::Job& job, const InjectedFault& missing) {
  const std::string call = describe_rpc(as_record(missing), masks_);
  evidence_.did_not_come(call);
  if (auto kept = keep_appearances(); !kept) return kept;
  return dispatcher_->leave_out(job.execution.id, "it did not come");
}

// "seen in 2 of 9 executions: it comes and goes: ..."; "": the call comes in all executions.
std::string Explorer::appearance_text(const std::string& call) const {
  const auto seen = appearances_.calls.find(call);
  if (seen == appearances_.calls.end()) return "";
  const std::vector<Variation>& rows = exploration_.report.variations;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Variation& one) {
    return one.comes_and_goes && one.rpc == call;
  });
  return seen_in(seen->second, appearances_.executions) +
         (row == rows.end() ? "" : ": " + row->reason);
}

// What was counted over all executions takes the place of what the first ones have said.
void Explorer::tell_appearances() {
  TestReport& report = exploration_.report;
  for (Variation& row : report.variations) {
    const auto seen = appearances_.calls.find(row.rpc);
    if (!row.comes_and_goes || seen == appearances_.calls.end()) continue;
    if (row.what.starts_with("seen in")) row.what = seen_in(seen->second, appearances_.executions);
    if (report.rpcs.tested.contains(row.rpc)) row.effect = Variation::Effect::kWhereItComes;
  }
  for (const auto& [call, reason] : evidence_.left_out()) {
    if (const std::string text = appearance_text(call); !text.empty())
      evidence_.leave_out(call, text);
  }
  for (auto& [call, reason] : report.rpcs.untested) {
    const std::string text = appearance_text(call);
    if (text.empty()) continue;
    reason = text;
    evidence_.leave_out(call, text);
  }
}

}  // namespace filibuster
