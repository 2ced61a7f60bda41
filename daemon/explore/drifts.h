// Times in which the application did not do without faults what it had done at first: what has become of the reference
// execution, run again during an exploration and at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/explore/test_run.h"
#include "daemon/model/reference_again.h"
#include "daemon/store/store.h"

namespace filibuster {

class Drifts {
 public:
  // The session outlives it.
  explicit Drifts(const SessionContext* session) : session_(*session) {}
  void keep_in(search::SearchStore* store) { store_ = store; }
  Result<void> load();
  void clear();

  // This execution ran without faults.
  void looked(uint32_t execution) { again_.executions.push_back(execution); }
  // It is the reference execution from now on.
  void begin_with(uint32_t execution) { last_as_before_ = execution; }
  // It did what the reference execution did: a drift has ended. Also called when an exploration goes on, which it does only
  // where that is so.
  Result<void> as_before(uint32_t execution);
  // It did not, on this lane. `last_seen`: the number of the last execution that still showed what has changed.
  Result<void> differed(uint32_t lane, uint32_t execution, std::vector<std::string> what,
                        const std::function<uint32_t()>& last_seen);
  const ReferenceAgain& again() const { return again_; }

 private:
  bool is_open() const { return !again_.drifts.empty() && again_.drifts.back().until == 0; }

  const SessionContext& session_;
  search::SearchStore* store_ = nullptr;
  ReferenceAgain again_;
  uint32_t last_as_before_ = 0;  // the last execution that was as the reference execution
};

}  // namespace filibuster
