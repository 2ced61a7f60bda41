#include "daemon/agents/rpc_memory.h"

#include "core/index/execution_index.h"
#include "daemon/model/call_name.h"

namespace filibuster {
namespace {

// Bounds the memory of an application whose indexes differ in every run.
constexpr size_t kMaxRemembered = 100'000;

// Hash of a call site with what is called there: what an index is made of, without its path and without
// the payload (body and query).
Hash128 site_of(const RpcRecord& rpc) {
  std::string text = to_hex(rpc.stack);
  const std::string path = path_of(rpc);
  for (const std::string_view part : {std::string_view(rpc.caller), std::string_view(rpc.service),
                                      std::string_view(rpc.method), std::string_view(path)}) {
    text += '\0';
    text += part;
  }
  return hash_text(text);
}

}  // namespace

void RpcMemory::remember(const RpcRecord& rpc, const WireNames& wire) {
  // An RPC without a method ended at connect or in its handshake: its request was never formed.
  if (rpc.index.is_zero() || rpc.method.empty() || seen_.size() >= kMaxRemembered) return;
  const auto [place, added] = seen_.try_emplace(rpc.index);
  Seen& seen = place->second;
  if (added) seen.site = site_of(rpc);
  if (!wire.before_body) with_body_.insert(seen.site);
  if (!added) return;
  seen.first = executions_;
  seen.caller = rpc.caller;
  seen.service = rpc.service;
  seen.method = rpc.method;
  seen.target = rpc.target;
  seen.body_sample = rpc.body_sample;
  seen.stack = rpc.stack_text;
  seen.told = rpc.told;
  seen.payload = rpc.payload;
  seen.stack_hash = rpc.stack;
  seen.count = rpc.count;
  seen.protocol = rpc.flags & (kRpcHttp2 | kRpcGrpc | kRpcRedis | kRpcEncrypted | kRpcSealed);
  seen.wire = wire;
  seen.long_body = (rpc.flags & kRpcPayloadTruncated) != 0;
  if (wire.index == rpc.index) return;
  const auto [final_index, first] = finals_.try_emplace(wire.index, rpc.index);
  if (!first && final_index->second != rpc.index) final_index->second = Hash128{};
}

void RpcMemory::complete(RpcRecord* rpc) const {
  const auto place = seen_.find(rpc->index);
  if (place == seen_.end()) return;
  const Seen& seen = place->second;
  rpc->service = seen.service;  // at connect only the address was known
  rpc->method = seen.method;
  rpc->target = seen.target;
  rpc->body_sample = seen.body_sample;
  rpc->stack_text = seen.stack;
  rpc->told = seen.told;
  rpc->payload = seen.payload;
  rpc->stack = seen.stack_hash;
  rpc->flags = static_cast<uint16_t>(rpc->flags | seen.protocol);
}

void RpcMemory::complete_body(RpcRecord* rpc) const {
  if (const auto place = seen_.find(rpc->index); place != seen_.end())
    rpc->body_sample = place->second.body_sample;
}

std::string RpcMemory::describe(const Hash128& index) const {
  const auto place = seen_.find(index);
  if (place == seen_.end()) return "index " + to_hex(index);
  const Seen& seen = place->second;
  return seen.caller + " -> " + seen.service + " " +
         call_name(seen.method, seen.target, protocol_of(seen.protocol)) + " #" +
         std::to_string(seen.count);
}

std::optional<ExpectedRpc> RpcMemory::expected(const Hash128& index) const {
  const auto place = seen_.find(index);
  if (place == seen_.end()) return std::nullopt;
  const Seen& seen = place->second;
  return ExpectedRpc{seen.caller, seen.service, seen.method, seen.target};
}

bool RpcMemory::is_newer(const Hash128& index, const Hash128& other) const {
  const auto place = seen_.find(index);
  const auto older = seen_.find(other);
  return place == seen_.end() ||
         (older != seen_.end() && place->second.first > older->second.first);
}

bool RpcMemory::merely_late(const Seen& seen) const {
  constexpr int kDeepest = 64;
  const Seen* at = &seen;
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (at->wire.before_body && !at->long_body && with_body_.contains(at->site)) return true;
    const auto parent = finals_.find(at->wire.parent);
    if (parent == finals_.end()) return false;
    const auto place = seen_.find(parent->second);
    if (place == seen_.end()) return false;
    at = &place->second;
  }
  return false;
}

RpcMemory::Plan RpcMemory::expand(const std::vector<PlannedRpcFault>& plan) const {
  Plan out;
  out.rows = plan;
  out.ambiguous.assign(plan.size(), false);
  for (size_t i = 0; i < plan.size(); ++i) out.planned.push_back(i);
  for (size_t i = 0; i < plan.size(); ++i) {
    const auto place = seen_.find(plan[i].index);
    if (place == seen_.end()) continue;
    const WireNames& wire = place->second.wire;
    if (wire.index == plan[i].index) continue;
    if (merely_late(place->second)) continue;
    const auto final_index = finals_.find(wire.index);
    if (final_index == finals_.end() || final_index->second.is_zero()) {
      out.ambiguous[i] = true;
      continue;
    }
    PlannedRpcFault row = plan[i];
    row.index = wire.index;
    row.parent = wire.parent;
    row.signature = wire.signature;
    row.count = wire.count;
    out.rows.push_back(std::move(row));
    out.planned.push_back(i);
    // At connect the agent counts under wire names: the row with the final index must not be found there.
    out.rows[i].number = out.rows[i].service_number = 0;
  }
  add_items(plan, &out);
  return out;
}

void RpcMemory::add_items(const std::vector<PlannedRpcFault>& plan, Plan* out) {
  uint32_t group = 0;
  const size_t named = out->rows.size();
  for (size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].fault.kind != FaultKind::kAttempts) continue;
    for (size_t row = 0; row < named; ++row) {
      if (out->planned[row] == i) out->rows[row].group = group;
    }
    for (const AttemptRule& rule : plan[i].fault.attempts.rules) {
      PlannedRpcFault item;
      item.fault = rule.outcome;
      item.is_item = true;
      item.when = rule.when;
      item.group = group;
      out->rows.push_back(std::move(item));
      out->planned.push_back(i);
    }
    ++group;
  }
}

}  // namespace filibuster
