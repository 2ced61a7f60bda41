#include "daemon/explore/sent_mutations.h"

#include <nlohmann/json.hpp>

#include "core/fault/attempts.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/retries/oracles.h"

namespace filibuster {

using search::Saved;

Result<void> SentMutations::allow(const std::string& index) {
  Hash128 hash;
  if (!from_hex(index, &hash)) return {};
  return state_.dispatcher->allow(hash, default_mutation_fault());
}

Result<void> SentMutations::note(const ExecutionRecord& record) {
  const Config& config = state_.config;
  if (!config.default_faults) return {};
  const auto groups = retries::group_attempts(record);
  bool any_new = false;
  for (const size_t at : retries::sent_again(record, groups, config.retries.mutations)) {
    const RpcRecord& rpc = record.rpcs[at];
    // What is an attempt of a planned sequence gets no other faults.
    if (rpc.attempt != 0 ||
        !fault_applies(default_mutation_fault(), (rpc.flags & kRpcHttp2) != 0, rpc.protocol()))
      continue;
    if (!default_set_decides(config, caller_of(rpc), rpc.service, rpc.method, path_of(rpc),
                             rpc.protocol()))
      continue;
    const auto [index, added] = indexes_.insert(to_hex(rpc.index));
    if (!added) continue;
    any_new = true;
    if (auto allowed = allow(*index); !allowed) return allowed;
  }
  return any_new ? state_.store->save(Saved::kSentAgain, dump_json(indexes_)) : Result<void>();
}

Result<void> SentMutations::allow_all() {
  for (const std::string& index : indexes_) {
    if (auto allowed = allow(index); !allowed) return allowed;
  }
  return {};
}

Result<void> SentMutations::load() {
  auto text = state_.store->saved(Saved::kSentAgain);
  if (!text) return text.error();
  const auto rows = nlohmann::json::parse(text.value().value_or("[]"), nullptr, false);
  for (const auto& row : rows.is_array() ? rows : nlohmann::json::array()) {
    if (row.is_string()) indexes_.insert(row.get<std::string>());
  }
  return allow_all();
}

void SentMutations::tell(TestReport* report) const {
  if (indexes_.empty()) return;
  report->fault_configuration.push_back(
      "mutations that were sent again: " + describe_fault(default_mutation_fault()) +
      ", too (default set)");
}

}  // namespace filibuster
