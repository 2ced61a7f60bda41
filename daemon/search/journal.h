// The durable memory of a search: what it writes, and what it loads when it goes on. Null in place of a
// journal is a search that stays in memory. daemon/store/store.h keeps one in SQLite.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/result.h"

namespace filibuster::search {

// Interned outcome of one RPC as its caller sees it: a fault specification's text ("status:503",
// "refused") or an organic result; equal texts are equal outcomes, so that an organic 503 equals an
// injected one, if their bodies are equal. 0 is reserved: no result was seen (the caller went on,
// the execution ended).
using OutcomeId = uint32_t;

using AbstractId = uint32_t;
inline constexpr AbstractId kReference = 0;

enum class AbstractState : uint8_t {
  kOpen = 0,  // scheduled, perhaps handed out, and not yet decided
  kExecuted = 1,
  kRedundant = 2,  // pruned by ESR
  kAbandoned = 3,  // could not be concluded; the reason is kept
  kLeftOut = 4,    // what it is about did not come; the reason is kept
};

// One abstract execution as a delta to the execution it was scheduled from.
struct AbstractRow {
  AbstractId id = 0;
  AbstractId parent = 0;
  uint32_t rpc = 0;       // number of the newly faulted RPC
  uint32_t position = 0;  // its place among the RPCs of the parent: the end of the prefix
  OutcomeId fault = 0;
  AbstractState state = AbstractState::kOpen;
};

// Rows are written within an operation of the search, and committed between two operations, never inside
// one. After a failed write nothing is written any more: what is kept is whole operations only.
class Journal {
 public:
  virtual ~Journal() = default;

  virtual Result<void> add_rpc(uint32_t number, Hash128 index) = 0;
  virtual Result<void> add_fault_list(uint32_t number, std::string_view packed) = 0;
  virtual Result<void> add_abstract(const AbstractRow& row) = 0;
  virtual Result<void> decide(AbstractId id, AbstractState state, std::string_view reason) = 0;
  // `predicted`: not executed but foreseen from other executions (search.h "Expansion").
  virtual Result<void> add_concrete(AbstractId id, bool predicted, std::string_view packed) = 0;
  // Numbers that only Search::counts() needs; written with the next commit.
  virtual void set_counters(uint64_t duplicate, uint64_t beyond_bound) = 0;
  // Call between operations: commits if the oldest uncommitted row is older than that.
  virtual Result<void> commit_if_older(int milliseconds) = 0;
  // Commits everything written so far.
  virtual Result<void> flush() = 0;

  virtual Result<std::string> concrete(AbstractId id) = 0;
  // {duplicate, beyond_bound}
  virtual Result<std::pair<uint64_t, uint64_t>> counters() = 0;
  // Each row in order of its number or id. The views live during the call only.
  virtual Result<void> each_rpc(const std::function<void(uint32_t, Hash128)>& row) = 0;
  virtual Result<void> each_fault_list(
      const std::function<void(uint32_t, std::string_view)>& row) = 0;
  virtual Result<void> each_abstract(const std::function<void(const AbstractRow&)>& row) = 0;
  virtual Result<void> each_concrete(
      const std::function<void(AbstractId, bool predicted, std::string_view)>& row) = 0;
  // The executions in this state that were decided with a reason.
  virtual Result<std::vector<std::pair<AbstractId, std::string>>> reasons(AbstractState state) = 0;

  // The first failed write.
  virtual Result<void> health() const = 0;
  // Processor seconds that writing took so far.
  virtual double seconds() const = 0;
};

}  // namespace filibuster::search
