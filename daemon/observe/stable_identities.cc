#include "daemon/observe/stable_identities.h"

#include "core/index/stable_identity.h"
#include "daemon/observe/observation.h"

namespace filibuster {

StableIdentities::StableIdentities(const ExecutionRecord& record,
                                   const std::vector<NondeterminismRule>& masks) {
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0) continue;  // it belongs to an older execution
    const auto parent = by_rpc_.find(rpc.parent_rpc);
    const Hash128 above = parent == by_rpc_.end() ? Hash128{} : parent->second.identity;
    const Hash128 kind = stable_kind(above, describe_rpc(rpc, masks), rpc.stack_text);
    const Hash128 identity = stable_identity(kind, ++of_kind_[kind]);
    by_rpc_.emplace(rpc.rpc, Known{&rpc, kind, identity});
    by_identity_.emplace(identity, &rpc);
  }
}

StableIdentity StableIdentities::of(uint64_t rpc) const {
  const auto found = by_rpc_.find(rpc);
  if (found == by_rpc_.end()) return {};
  return {found->second.identity, of_kind_.at(found->second.kind)};
}

const RpcRecord* StableIdentities::find(const StableIdentity& wanted) const {
  const auto found = by_identity_.find(wanted.identity);
  if (found == by_identity_.end() || of(found->second->rpc).alike != wanted.alike) return nullptr;
  return found->second;
}

}  // namespace filibuster
