#include "daemon/agents/unmet_plan.h"

#include <algorithm>

#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"

namespace filibuster {
namespace {

bool is_same_call(const RpcRecord& a, const ExpectedRpc& b) {
  return caller_of(a) == b.caller && a.service == b.service && a.method == b.method &&
         path_of(a) == path_of(b.target, a.protocol());
}

// After such a fault a client library may make the call again by itself.
bool fails_the_connection(const RpcRecord& rpc) {
  return rpc.injected &&
         (rpc.fault.kind == FaultKind::kRefused || rpc.fault.kind == FaultKind::kReset ||
          rpc.fault.kind == FaultKind::kStreamReset || rpc.fault.kind == FaultKind::kGoaway ||
          rpc.fault.kind == FaultKind::kTimeout || rpc.fault.kind == FaultKind::kTls);
}

// Frames are not symbolized yet (RpcIssued::stack_text).
std::string place_of(const RpcRecord& rpc) {
  if (rpc.stack_text.empty()) return "a call site that is not known";
  const std::string& frame = rpc.stack_text.front();
  if (!frame.starts_with("F ")) return "a native call site";
  return frame.substr(2, frame.find(' ', 2) - 2);
}

}  // namespace

std::string why_not_issued(const ExecutionRecord& record, const PlannedRpcFault& planned,
                           const ExpectedRpc& expected,
                           const std::function<bool(const Hash128&)>& is_new) {
  std::string not_issued(kNotIssued);
  const RpcRecord* elsewhere = nullptr;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.injected || (rpc.flags & kRpcLate) != 0 || !is_same_call(rpc, expected)) continue;
    if (rpc.cause == Cause::kNone && !is_test_call(rpc)) {
      return not_issued + "; one like it was issued without a known cause, at " + place_of(rpc);
    }
    if (!is_new(rpc.index)) continue;
    const auto failed =
        std::find_if(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& other) {
          return fails_the_connection(other) && is_same_call(other, expected) &&
                 other.parent == rpc.parent && other.payload == rpc.payload &&
                 other.issued_ns <= rpc.issued_ns;
        });
    if (failed != record.rpcs.end() && rpc.parent == planned.parent) {
      return not_issued + "; in its place the client made the call again at which " +
             to_text(failed->fault) + " was injected, at " + place_of(rpc);
    }
    if (elsewhere == nullptr) elsewhere = &rpc;
  }
  if (elsewhere == nullptr) return not_issued;
  return not_issued + "; one like it was issued elsewhere: " +
         (elsewhere->parent != planned.parent ? "for another request, at " : "at ") +
         place_of(*elsewhere);
}

}  // namespace filibuster
