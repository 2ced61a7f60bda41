// Mutations that a client sends again although they must not be done twice. What a server does with such a call whose answer
// was lost, no fault of the default set shows: where one was sent again in any execution, it gets one more.
#pragma once

#include <set>
#include <string>

#include "daemon/explore/exploration.h"

namespace filibuster {

class SentMutations {
 public:
  // `state` outlives it.
  explicit SentMutations(ExplorationState* state) : state_(*state) {}

  // Of an execution whose plan was met, before the search takes it in.
  Result<void> note(const ExecutionRecord& record);
  // For a search that has begun anew: it gets these faults again.
  Result<void> allow_all();
  // For a search that goes on.
  Result<void> load();
  void clear() { indexes_.clear(); }
  // Adds the further fault to the fault configuration, if any RPC got it.
  void tell(TestReport* report) const;

 private:
  Result<void> allow(const std::string& index);

  ExplorationState& state_;
  std::set<std::string> indexes_;  // in hexadecimal
};

}  // namespace filibuster
