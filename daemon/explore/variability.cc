#include "daemon/explore/variability.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "daemon/observe/observation.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

using search::Saved;
using Json = nlohmann::json;

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

Variability::Variability(const TestConfig* test, const Config* config, Apply apply)
    : test_(*test), config_(*config), apply_(std::move(apply)) {}

Result<void> Variability::mask(const std::vector<NondeterminismRule>& rules) {
  auto table = compile_masks(rules);
  if (!table) {
    return Error{"what varies between executions of test '" + test_.name +
                 "' needs more masks than there may be: " + table.error().message +
                 "; write broader rules into the configuration"};
  }
  apply_(*table.value());
  masks_ = rules;
  return {};
}

Result<void> Variability::mask_further(const std::vector<NondeterminismRule>& rules) {
  std::vector<NondeterminismRule> all = masks_;
  all.insert(all.end(), rules.begin(), rules.end());
  if (auto masked = mask(all); !masked) return masked;
  proposed_.insert(proposed_.end(), rules.begin(), rules.end());
  return {};
}

void Variability::add(const Nondeterminism& found) {
  for (const Variation& variation : found.variations) {
    const bool known =
        std::any_of(variations_.begin(), variations_.end(), [&](const Variation& other) {
          return other.rpc == variation.rpc && other.what == variation.what &&
                 (other.effect == variation.effect ||
                  variation.effect == Variation::Effect::kMasked);
        });
    if (!known) variations_.push_back(variation);
  }
  unstable_.add(found.unstable);
}

void Variability::leave_out(const NondeterminismRule& rule, const std::string& reason) {
  filibuster::leave_out(rule, reason, &unstable_);
}

Result<void> Variability::load_masks() {
  std::optional<std::string> masks, unstable, variations, proposed;
  for (const auto& [key, text] : {std::pair{Saved::kMasks, &masks},
                                  {Saved::kUnstable, &unstable},
                                  {Saved::kVariations, &variations},
                                  {Saved::kProposedMasks, &proposed}}) {
    auto saved = store_->saved(key);
    if (!saved) return saved.error();
    *text = std::move(saved).value();
  }
  if (unstable) {
    auto known = UnstableRpcs::from_json(*unstable);
    if (!known) return known.error();
    unstable_ = std::move(known).value();
  }
  variations_ = variations_from(variations.value_or(""));
  if (proposed && !proposed->empty()) {
    auto found = parse_nondeterminism(*proposed);
    if (!found) return found.error();
    proposed_ = std::move(found).value();
  }
  if (!masks) return mask_as_configured();
  auto rules = parse_nondeterminism(*masks);
  if (!rules) return rules.error();
  return mask(rules.value());
}

Result<void> Variability::save() {
  for (const auto& [key, value] :
       {std::pair<Saved, std::string>{Saved::kMasks, to_config_text(masks_)},
        {Saved::kUnstable, unstable_.to_json()},
        {Saved::kVariations, to_json(variations_)},
        {Saved::kProposedMasks, proposed_.empty() ? "" : to_config_text(proposed_)}}) {
    if (auto saved = store_->save(key, value); !saved) return saved;
  }
  return {};
}

void Variability::clear() {
  unstable_ = {};
  appearances_ = {};
  misses_.clear();
  variations_.clear();
  proposed_.clear();
}

std::vector<std::string> Variability::see(const ExecutionRecord& record) {
  std::vector<std::string> again;
  if (!unstable_.has_sometimes()) return again;
  ++appearances_.executions;
  std::set<std::string> calls;
  std::map<Hash128, std::string> indexes;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0 || unstable_.comes_sometimes(rpc) == nullptr) continue;
    const std::string call = describe_rpc(rpc, masks_);
    calls.insert(call);
    indexes.emplace(rpc.index, call);
  }
  for (const std::string& call : calls)
    if (uint32_t* times = counted(&appearances_.calls, call)) ++*times;
  for (const auto& [index, call] : indexes) {
    misses_.erase(index);
    uint32_t* times = counted(&appearances_.indexes, index);
    if (times == nullptr || ++*times != 2) continue;
    unstable_.comes_again(index);
    appearances_.kept = false;
    again.push_back(call);
  }
  return again;
}

Result<void> Variability::keep_appearances(bool all) {
  if (!unstable_.has_sometimes() || (appearances_.kept && !all)) return {};
  appearances_.kept = true;
  Json indexes = Json::object();
  for (const auto& [index, times] : appearances_.indexes) indexes[to_hex(index)] = times;
  if (auto saved = store_->save(Saved::kUnstable, unstable_.to_json()); !saved) return saved;
  return store_->save(Saved::kAppearances, dump_json(Json{{"executions", appearances_.executions},
                                                          {"calls", appearances_.calls},
                                                          {"indexes", std::move(indexes)}}));
}

Result<void> Variability::load_appearances() {
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

size_t Variability::reference_to_take(const std::vector<ExecutionResult>& runs) const {
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

const InjectedFault* Variability::did_not_come(const Case& one,
                                               const ExecutionRecord& record) const {
  if (!unstable_.has_recurring()) return nullptr;
  const auto missing = std::find_if(one.faults.begin(), one.faults.end(), [&](const auto& fault) {
    return unstable_.is_recurring(fault.index) &&
           std::none_of(record.rpcs.begin(), record.rpcs.end(),
                        [&](const RpcRecord& rpc) { return rpc.index == fault.index; });
  });
  return missing == one.faults.end() ? nullptr : &*missing;
}

const InjectedFault* Variability::given_up(const Case& one) const {
  const auto gone = std::find_if(one.faults.begin(), one.faults.end(), [&](const auto& fault) {
    const auto misses = misses_.find(fault.index);
    return misses != misses_.end() && misses->second >= kMostMisses;
  });
  return gone == one.faults.end() ? nullptr : &*gone;
}

bool Variability::misses(const InjectedFault& missing, uint32_t executions) {
  uint32_t& misses = misses_[missing.index];
  misses += executions;
  return misses >= kMostMisses;
}

std::string Variability::appearance_text(const std::string& call) const {
  const auto seen = appearances_.calls.find(call);
  if (seen == appearances_.calls.end()) return "";
  const auto row = std::find_if(variations_.begin(), variations_.end(), [&](const Variation& one) {
    return one.comes_and_goes && one.rpc == call;
  });
  return seen_in(seen->second, appearances_.executions) +
         (row == variations_.end() ? "" : ": " + row->reason);
}

void Variability::tell(TestReport* report) const {
  report->variations = variations_;
  report->proposed_masks = proposed_.empty() ? "" : to_config_text(proposed_);
  for (Variation& row : report->variations) {
    const auto seen = appearances_.calls.find(row.rpc);
    if (!row.comes_and_goes || seen == appearances_.calls.end()) continue;
    if (row.what.starts_with("seen in")) row.what = seen_in(seen->second, appearances_.executions);
    if (report->rpcs.tested.contains(row.rpc)) row.effect = Variation::Effect::kWhereItComes;
  }
}

}  // namespace filibuster
