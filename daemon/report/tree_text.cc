// The tree of RPCs, for `filibuster trace`.
#include "daemon/report/tree_text.h"

#include <map>

#include "daemon/model/call_name.h"
#include "daemon/model/execution_record.h"
#include "daemon/redact/redact.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kMaxArguments = 300;  // bytes

std::string tree_line(const RpcRecord& rpc) {
  std::string out = (rpc.caller.empty() ? "?" : rpc.caller) + " -> " + rpc.service + "  " +
                    call_name(rpc, redact(rpc.target));
  if (!rpc.arguments.empty()) out += " " + cut(redact_object(rpc.arguments), kMaxArguments);
  if (rpc.count > 1) out += " (call " + std::to_string(rpc.count) + ")";
  out += rpc.protocol() != Protocol::kHttp ? " -> " : "  ";
  out += rpc.injected ? "injected " + to_text(rpc.fault) : redact(ending_name(rpc));
  if (rpc.attempt != 0) out += "  [attempt " + std::to_string(rpc.attempt) + "]";
  if (!rpc.stack_text.empty()) out += "  at " + rpc.stack_text.front();
  if (rpc.cause == Cause::kNone) {
    out += (rpc.flags & kRpcBackground) != 0 ? "  [by a background task]" : "  [cause not known]";
  } else if (rpc.parent_rpc != 0) {
    out += "  [by " + std::string(cause_name(rpc.cause)) + "]";
  }
  return out;
}

// By id of the causing RPC, in order of issue.
using Children = std::multimap<uint64_t, const RpcRecord*>;

void add_children(const Children& children, uint64_t of, const std::string& indent,
                  size_t depth_left, bool indexes, std::string* out) {
  const auto [begin, end] = children.equal_range(of);
  for (auto at = begin; at != end; ++at) {
    const bool last = std::next(at) == end;
    const bool root = of == 0;
    const std::string branch = root ? "" : last ? "`- " : "|- ";
    if (indexes) *out += to_hex(at->second->index) + "  ";
    *out += indent + branch + tree_line(*at->second) + "\n";
    if (depth_left == 0) continue;  // ids that form a circle come from a confused agent
    add_children(children, at->second->rpc,
                 indent + (root   ? ""
                           : last ? "   "
                                  : "|  "),
                 depth_left - 1, indexes, out);
  }
}

}  // namespace

std::string tree_text(const std::vector<RpcRecord>& rpcs, bool indexes) {
  std::map<uint64_t, bool> known;
  for (const RpcRecord& rpc : rpcs) known[rpc.rpc] = true;
  Children children;
  for (const RpcRecord& rpc : rpcs) {
    // An RPC whose cause was not seen becomes a root of the tree.
    const bool under = rpc.parent_rpc != rpc.rpc && known.contains(rpc.parent_rpc);
    children.emplace(under ? rpc.parent_rpc : 0, &rpc);
  }
  std::string out;
  add_children(children, 0, "", rpcs.size(), indexes, &out);
  return out;
}

}  // namespace filibuster
