#include "daemon/report/seen.h"

#include <algorithm>
#include <map>
#include <set>

#include "daemon/model/call_name.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

constexpr size_t kMaxLines = 8;
constexpr size_t kMaxDepth = 64;  // ids that form a circle come from a confused agent

std::string call_of(const RpcRecord& rpc) {
  return (rpc.caller.empty() ? "?" : rpc.caller) + " -> " + rpc.service + "  " +
         call_name(rpc, redact(rpc.target)) +
         (rpc.count > 1 ? " (call " + std::to_string(rpc.count) + ")" : "");
}

// "" where the caller saw the same as without faults.
std::string difference(const RpcRecord& rpc, const RpcRecord* before) {
  const std::string now = ending_name(rpc);
  if (before == nullptr) return now + ", not called without faults";
  const std::string then = ending_name(*before);
  // Whether all of an answer has come when its caller leaves it differs from time to time.
  const bool left = rpc.outcome == RpcOutcome::kNotRead || before->outcome == RpcOutcome::kNotRead;
  if (left && rpc.answered() && before->answered() && rpc.status == before->status) return "";
  if (now != then) return now + ", without faults " + then;
  const bool other_body = rpc.outcome == RpcOutcome::kAnswered && rpc.response != before->response;
  return other_body ? now + " with another body than without faults" : "";
}

// Calls that were made after a fault, and for another reason than it, and were answered otherwise: the fault has left something
// behind. Of such a call and those that it caused, the first is told.
void add_later(const std::vector<RpcRecord>& rpcs,
               const std::map<Hash128, const RpcRecord*>& before, std::set<uint64_t>* told,
               std::vector<std::string>* lines) {
  uint64_t first_ns = 0;
  for (const RpcRecord& rpc : rpcs) {
    if (rpc.injected && (first_ns == 0 || rpc.issued_ns < first_ns)) first_ns = rpc.issued_ns;
  }
  if (first_ns == 0) return;
  for (const RpcRecord& rpc : rpcs) {  // in order of issue
    const auto same = before.find(rpc.index);
    if (rpc.injected || rpc.issued_ns <= first_ns || same == before.end()) continue;
    if (told->contains(rpc.rpc)) continue;
    const std::string what = difference(rpc, same->second);
    if (what.empty()) continue;
    told->insert(rpc.rpc);
    if (!told->contains(rpc.parent_rpc))
      lines->push_back(call_of(rpc) + ", later: " + redact(what));
  }
}

}  // namespace

std::vector<std::string> what_was_seen(const std::vector<RpcRecord>& rpcs,
                                       const std::vector<RpcRecord>& reference) {
  std::map<uint64_t, const RpcRecord*> by_id;
  for (const RpcRecord& rpc : rpcs) by_id[rpc.rpc] = &rpc;
  std::map<Hash128, const RpcRecord*> before;
  for (const RpcRecord& rpc : reference) before.emplace(rpc.index, &rpc);

  std::vector<std::string> lines;
  std::set<uint64_t> told;
  for (const RpcRecord& faulted : rpcs) {
    if (!faulted.injected) continue;
    uint64_t at = faulted.parent_rpc;
    for (size_t depth = 0; depth < kMaxDepth && at != 0; ++depth) {
      const auto found = by_id.find(at);
      if (found == by_id.end()) break;
      const RpcRecord& rpc = *found->second;
      at = rpc.parent_rpc;
      if (rpc.injected || !told.insert(rpc.rpc).second) continue;
      const auto same = before.find(rpc.index);
      const std::string what = difference(rpc, same == before.end() ? nullptr : same->second);
      if (!what.empty()) lines.push_back(call_of(rpc) + ": " + redact(what));
    }
  }
  add_later(rpcs, before, &told, &lines);
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  return lines;
}

}  // namespace filibuster
