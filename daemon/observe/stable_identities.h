// The stable identities (core/index/stable_identity.h) of the RPCs of one execution.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/hash.h"
#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/injected_fault.h"

namespace filibuster {

class StableIdentities {
 public:
  // What `masks` leave out of a path is not part of an identity.
  StableIdentities(const ExecutionRecord& record, const std::vector<NondeterminismRule>& masks);

  // The identity of an RPC of the record, by RpcRecord::rpc.
  StableIdentity of(uint64_t rpc) const;
  // The RPC with this identity. nullptr: there is none, or the number of RPCs that are alike is another
  // one than in `wanted`, so that the RPC that was found may be another one.
  const RpcRecord* find(const StableIdentity& wanted) const;

 private:
  struct Known {
    const RpcRecord* rpc = nullptr;
    Hash128 kind, identity;
  };

  std::unordered_map<uint64_t, Known> by_rpc_;
  std::unordered_map<Hash128, const RpcRecord*, Hash128Hasher> by_identity_;
  std::unordered_map<Hash128, uint32_t, Hash128Hasher> of_kind_;
};

}  // namespace filibuster
