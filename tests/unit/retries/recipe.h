// Records of executions, made of short lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster::retries {

// An RPC of service "shop" to "store", answered 200, that a request caused; `at` is its time of issue.
inline RpcRecord rpc(std::string method, std::string target,
                     std::vector<std::string> stack = {"shop.py:3 (pay)"}) {
  RpcRecord out;
  out.caller = "shop";
  out.service = "store";
  out.method = std::move(method);
  out.target = std::move(target);
  out.stack_text = std::move(stack);
  out.cause = Cause::kHeader;
  out.parent_rpc = 1;
  out.parent = hash_text("parent");
  out.payload = hash_text("body");
  out.open = false;
  out.outcome = RpcOutcome::kAnswered;
  out.status = 200;
  return out;
}

inline RpcRecord answered(RpcRecord out, uint16_t status) {
  out.status = status;
  return out;
}
inline RpcRecord timed_out(RpcRecord out) {
  out.outcome = RpcOutcome::kTimedOut;
  out.status = 0;
  return out;
}
inline RpcRecord with_id(RpcRecord out, const std::string& name, const std::string& value) {
  out.request_id_name = name;
  out.request_id = combine(hash_text(name), hash_text(value));
  return out;
}
// Attempt `number` of a planned sequence, with what was injected; "": it passed.
inline RpcRecord attempt(RpcRecord out, uint32_t number, std::string_view fault) {
  out.attempt = number;
  out.attempt_of = hash_text(out.target);
  out.grouped_by = number == 1 ? GroupedBy::kFirst : GroupedBy::kSameRequest;
  if (fault.empty()) return out;
  out.injected = true;
  out.fault = parse_fault(fault).value();
  out.status = out.fault.status;
  if (out.fault.kind == FaultKind::kTimeout) out.outcome = RpcOutcome::kTimedOut;
  return out;
}

// One after the other, each ended before the next is issued.
inline ExecutionRecord record(std::vector<RpcRecord> rpcs) {
  ExecutionRecord out;
  uint64_t now = 1000;
  for (RpcRecord& one : rpcs) {
    one.rpc = now;
    one.issued_ns = now;
    one.finished_ns = now + 500;
    now += 1000;
    out.rpcs.push_back(std::move(one));
  }
  return out;
}

}  // namespace filibuster::retries
