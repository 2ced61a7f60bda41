// Which RPC of one reference execution is which RPC of another, when their indexes may differ: by
// the match of their parents, then caller, service, method, call site and shape of the path, then
// what they say, then order. And what differs between two that were matched, field by field.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/agents/caller.h"
#include "daemon/agents/execution_record.h"
#include "daemon/config/config.h"

namespace filibuster {

// The RPCs of one execution by what caused them (0: []), in order of issue. Without those whose
// cause is not known, late ones, and what these caused.
class RpcTree {
 public:
  explicit RpcTree(const ExecutionRecord& record);
  const std::vector<const RpcRecord*>& caused_by(uint64_t rpc) const;
  // Those that caused anything, and 0.
  const std::unordered_map<uint64_t, std::vector<const RpcRecord*>>& all() const {
    return children_;
  }

 private:
  std::unordered_map<uint64_t, std::vector<const RpcRecord*>> children_;
};

struct RpcMatch {
  const RpcRecord* first = nullptr;
  const RpcRecord* other = nullptr;
  bool same_kind = true;  // else only caller, service and method agree
};
struct RunMatch {
  std::vector<RpcMatch> pairs;
  std::vector<const RpcRecord*> only_first, only_other;  // not what they caused
  // Parents (of the first run) of which the children came in another order.
  std::vector<uint64_t> reordered;
};
RunMatch match_runs(const RpcTree& first, const RpcTree& other, uint32_t index_parts);

// What varies, as the rules name it. Elements of arrays keep their mark (kElementMark).
struct FieldSet {
  std::set<uint32_t> segments;
  std::set<std::string> query, form, json, message, response;
  bool stack = false;  // the call stack
  // What no mask can cover: "the names of its query arguments".
  std::set<std::string> beyond, response_beyond;

  bool identity() const {
    return stack || !segments.empty() || !query.empty() || !form.empty() || !json.empty() ||
           !message.empty() || !beyond.empty();
  }
  bool empty() const { return !identity() && response.empty() && response_beyond.empty(); }
  void add(const FieldSet& other);
  void remove(const FieldSet& other);
};
FieldSet differences(const RpcRecord& a, const RpcRecord& b, uint32_t index_parts);

// Of `fields`, those that the rules mask in this RPC.
FieldSet covered_by(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                    const FieldSet& fields);
// All that a request says but for what the rules mask in it: equal texts, equal signature and
// payload.
std::string masked_identity(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                            uint32_t index_parts);
bool rule_applies(const NondeterminismRule& rule, const RpcRecord& rpc);
// Segments of its path that the rules mask.
std::set<uint32_t> masked_segments(const std::vector<NondeterminismRule>& rules,
                                   const RpcRecord& rpc);

std::string_view request_path_of(const RpcRecord& rpc);
std::vector<std::string> segments_of(std::string_view path);
// "/items/<mark>0/id" as people and rules write it: "/items/0/id".
std::string plain_pointer(std::string_view path);
// The names of a field of a gRPC call's messages by its pointer of numbers, "cart.id" for "/3/1"; "":
// not known. `answer`: of the answer.
using FieldNames =
    std::function<std::string(const RpcRecord& rpc, const std::string& pointer, bool answer)>;
// "path segment 2", "query ts", "JSON /id", "message field /3/1 (cart.id)", ... of this RPC.
std::vector<std::string> describe_fields(const FieldSet& fields, const RpcRecord& rpc,
                                         const FieldNames& names);

}  // namespace filibuster
