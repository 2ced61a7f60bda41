// Matches the RPCs of one reference execution with those of another when their indexes may differ: by
// the match of their parents, then by caller, service, method, call site and number of path segments,
// then by contents, then by order. Also finds what differs between two matched RPCs, field by field.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/caller.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

// The RPCs of one execution by the RPC that caused them (0: the root []), in order of issue. RPCs whose
// cause is not known, late ones, and the RPCs that these caused are left out.
class RpcTree {
 public:
  explicit RpcTree(const ExecutionRecord& record);
  const std::vector<const RpcRecord*>& caused_by(uint64_t rpc) const;
  // The same for every RPC that caused any, and for 0.
  const std::unordered_map<uint64_t, std::vector<const RpcRecord*>>& all() const {
    return children_;
  }

 private:
  std::unordered_map<uint64_t, std::vector<const RpcRecord*>> children_;
};

struct RpcMatch {
  const RpcRecord* first = nullptr;
  const RpcRecord* other = nullptr;
};
struct RunMatch {
  std::vector<RpcMatch> pairs;
  std::vector<const RpcRecord*> only_first, only_other;  // without the RPCs that these caused
  // Parents (of the first run) whose children came in another order in the other run.
  std::vector<uint64_t> reordered;
};
RunMatch match_runs(const RpcTree& first, const RpcTree& other, uint32_t index_parts);

// What varies in an RPC, as rules name it. Elements of arrays keep their mark (kElementMark).
struct FieldSet {
  std::set<uint32_t> segments;
  std::set<std::string> query, form, json, message, response;
  bool stack = false;  // the call stack
  // What no mask can cover: "the names of its query arguments".
  std::set<std::string> beyond, response_beyond;
  bool ending =
      false;  // how the RPC ends, or the status of its answer: `response_beyond` says which

  bool identity() const {
    return stack || !segments.empty() || !query.empty() || !form.empty() || !json.empty() ||
           !message.empty() || !beyond.empty();
  }
  bool empty() const { return !identity() && response.empty() && response_beyond.empty(); }
  void add(const FieldSet& other);
  void remove(const FieldSet& other);
};
FieldSet differences(const RpcRecord& a, const RpcRecord& b, uint32_t index_parts);

// The part of `fields` that the rules mask in this RPC.
FieldSet covered_by(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                    const FieldSet& fields);
// All that the request says, without what the rules mask in it. RPCs with equal texts have equal
// signatures and payloads.
std::string masked_identity(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                            uint32_t index_parts);
bool rule_applies(const NondeterminismRule& rule, const RpcRecord& rpc);
// Numbers (from 1) of the path's segments that the rules mask.
std::set<uint32_t> masked_segments(const std::vector<NondeterminismRule>& rules,
                                   const RpcRecord& rpc);

std::string_view request_path_of(const RpcRecord& rpc);
std::vector<std::string> segments_of(std::string_view path);
// "/items/<mark>0/id" as people and rules write it: "/items/0/id".
std::string plain_pointer(std::string_view path);
// The names of a field of a gRPC message by its pointer of field numbers: "cart.id" for "/3/1"; "":
// not known. `answer`: the field is in the answer, not in the request.
using FieldNames =
    std::function<std::string(const RpcRecord& rpc, const std::string& pointer, bool answer)>;
// "path segment 2", "query argument ts", "JSON field /id", "message field /3/1 (cart.id)", ...
std::vector<std::string> describe_fields(const FieldSet& fields, const RpcRecord& rpc,
                                         const FieldNames& names);

}  // namespace filibuster
