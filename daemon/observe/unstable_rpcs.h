// RPCs that no fault can be planned for, because they differ between reference executions in a way
// that no mask covers; and RPCs whose answers vary. They are recognised in any later execution.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "daemon/model/execution_record.h"
#include "daemon/observe/path_index.h"

namespace filibuster {

struct UnstableKind {
  std::string caller, service, method;
  std::string path;    // pattern (masks.h path_matches); empty: any
  Hash128 stack;       // zero: any
  std::string reason;  // "path segment 2 varies, and ..."
  // Only the answer varies: the RPC is faulted, its outcome is the status alone.
  bool answer = false;
  bool failed =
      false;  // with `answer`: failures vary, and successes are compared; false: the reverse
  // With `answer`: how the RPC ends varies, or the status of its answer, whatever it is in one execution.
  bool ending = false;
  // The RPC comes in some executions only. The search leaves it out until it has come again (comes_again).
  bool sometimes = false;
  bool operator==(const UnstableKind&) const = default;
};

class UnstableRpcs {
 public:
  void add(UnstableKind kind);
  void add(const UnstableRpcs& other);
  // Adds a single RPC that comes in some executions only, whatever others of its kind do.
  void add_index(Hash128 index, std::string reason);
  // The RPC of this index is stable, although it is of an unstable kind.
  void keep(Hash128 index) { stable_.insert(index); }
  // The RPC of this index comes in some executions only, and was seen in more than one: it is faulted where it comes.
  void comes_again(Hash128 index) { recurring_.insert(index); }
  bool is_recurring(Hash128 index) const { return recurring_.contains(index); }
  bool has_recurring() const { return !recurring_.empty(); }
  // A copy in which nothing is recurring: what comes in some executions only takes no part then.
  UnstableRpcs without_recurring() const;
  // Why the RPC comes in some executions only, recurring or not; nullptr: it comes in all, as far as is known.
  const UnstableKind* comes_sometimes(const RpcRecord& rpc) const;
  bool has_sometimes() const { return any_sometimes_; }
  // The reason why the RPC is not faulted; nullptr: it is faulted.
  const UnstableKind* find(const RpcRecord& rpc) const;
  bool answer_varies(const RpcRecord& rpc) const;
  bool ending_varies(const RpcRecord& rpc) const;
  bool empty() const { return kinds_.empty() && by_index_.empty(); }
  // A copy without the RPCs that come in some executions only.
  UnstableRpcs lasting() const;
  // True: a kind matches this RPC when its call site is ignored.
  bool concerns(const RpcRecord& rpc) const;

  // Kept with the session, so that a resumed one knows them.
  std::string to_json() const;
  static Result<UnstableRpcs> from_json(const std::string& text);

 private:
  void insert(UnstableKind kind);
  // The first kind for which `is` says true, among those whose caller, service, method and path match; nullptr: none.
  template <typename Is>
  const UnstableKind* first(const RpcRecord& rpc, Is is) const;

  std::vector<UnstableKind> kinds_;
  // The numbers of kinds, by caller, service and method. An application whose paths vary has thousands of them, and each RPC
  // of each execution is looked up.
  std::unordered_map<std::string, PathIndex> by_call_;
  std::map<Hash128, UnstableKind> by_index_;
  std::set<Hash128> stable_, recurring_;
  bool any_sometimes_ = false;
};

}  // namespace filibuster
