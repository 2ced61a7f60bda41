// Mutations that a client sends again although they must not be done twice. What a server does with such a call whose answer
// was lost, no fault of the default set shows: where one was sent again in any execution, it gets one more.
#include <nlohmann/json.hpp>

#include "core/fault/attempts.h"
#include "daemon/explore/explorer.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/retries/oracles.h"

namespace filibuster {

Result<void> Explorer::allow_mutation(const std::string& index) {
  Hash128 hash;
  if (!from_hex(index, &hash)) return {};
  return dispatcher_->allow(hash, default_mutation_fault());
}

// Called with each execution whose plan was met, before the search takes it in.
Result<void> Explorer::note_sent_again(const ExecutionRecord& record) {
  if (!config_.default_faults) return {};
  const auto groups = retries::group_attempts(record);
  bool any_new = false;
  for (const size_t at : retries::sent_again(record, groups, config_.retries.mutations)) {
    const RpcRecord& rpc = record.rpcs[at];
    // What is an attempt of a planned sequence gets no other faults.
    if (rpc.attempt != 0 ||
        !fault_applies(default_mutation_fault(), (rpc.flags & kRpcHttp2) != 0, rpc.protocol()))
      continue;
    if (!default_set_decides(config_, caller_of(rpc), rpc.service, rpc.method, path_of(rpc),
                             rpc.protocol()))
      continue;
    const auto [place, added] = sent_again_.insert(to_hex(rpc.index));
    if (!added) continue;
    any_new = true;
    if (auto allowed = allow_mutation(*place); !allowed) return allowed;
  }
  return any_new ? store_->save(Saved::kSentAgain, dump_json(sent_again_)) : Result<void>();
}

// For a search that goes on, or has begun anew.
Result<void> Explorer::allow_mutations() {
  for (const std::string& index : sent_again_) {
    if (auto allowed = allow_mutation(index); !allowed) return allowed;
  }
  return {};
}

Result<void> Explorer::load_sent_again() {
  auto text = store_->saved(Saved::kSentAgain);
  if (!text) return text.error();
  const auto rows = nlohmann::json::parse(text.value().value_or("[]"), nullptr, false);
  for (const auto& row : rows.is_array() ? rows : nlohmann::json::array()) {
    if (row.is_string()) sent_again_.insert(row.get<std::string>());
  }
  return allow_mutations();
}

}  // namespace filibuster
