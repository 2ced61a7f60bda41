// RPCs that no fault can be planned for, because the reference executions disagree about them in a
// way that no mask covers; and RPCs whose answers vary. Recognised in any later execution.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/agents/execution_record.h"

namespace filibuster {

struct UnstableKind {
  std::string caller, service, method;
  std::string path;     // pattern (masks.h path_matches); empty: any
  Hash128 stack;        // zero: any
  std::string reason;   // "path segment 2 varies, and ..."
  bool answer = false;  // only its answer varies: it is faulted, its outcome is its status alone
  bool failed = false;  // of such an answer: it is that of a failure; others are compared
  // It comes in some executions only: no place can be kept for it in the search.
  bool sometimes = false;
  bool operator==(const UnstableKind&) const = default;
};

class UnstableRpcs {
 public:
  void add(UnstableKind kind);
  void add(const UnstableRpcs& other);
  // By its index, where others of its kind are stable.
  void add_index(Hash128 index, std::string reason);
  // This one is as stable as can be, although it looks like a kind that is not.
  void keep(Hash128 index) { stable_.insert(index); }
  // Why the RPC itself is not faulted; nullptr: it is.
  const UnstableKind* find(const RpcRecord& rpc) const;
  bool answer_varies(const RpcRecord& rpc) const;
  bool empty() const { return kinds_.empty() && by_index_.empty(); }
  // Without those that come in some executions only.
  UnstableRpcs lasting() const;
  // RPCs like this one, wherever they are called, are of a kind that is here.
  bool concerns(const RpcRecord& rpc) const;

  // Kept with the session, so that a resumed one knows them.
  std::string to_json() const;
  static Result<UnstableRpcs> from_json(const std::string& text);

 private:
  std::vector<UnstableKind> kinds_;
  std::map<Hash128, UnstableKind> by_index_;
  std::set<Hash128> stable_;
};

}  // namespace filibuster
