// The executions without faults that `run`, `suite` and `lint` begin with. They are repeated and compared, and what varies between them is
// masked or noted, until nothing new varies. What makes one of them unusable, its verb says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/explore/test_run.h"
#include "daemon/explore/variability.h"
#include "daemon/observe/nondeterminism.h"

namespace filibuster {

class ReferencePhase {
 public:
  struct Options {
    Lane* lane;
    TestRun* run;
    uint32_t index_parts = 0;
    uint32_t executions = 1;  // that are run and compared with each other; 1: nothing is compared
    Variability* varies = nullptr;  // gets what varies; null where none is compared
    FieldNames field_names = {};
    // A mask of the configuration that would merge RPCs ends the phase. False: it is used all the same.
    bool refuses_broad_masks = true;
    Order order = Order::kOfCalls;
    TestRun::Observer observer;  // of each execution, those that run again among them
    // Looks at an execution; `earlier` usable ones came before it. False: it ends the phase, and the verb knows why.
    std::function<Result<bool>(const Attempt& attempt, size_t earlier)> accept;
  };
  explicit ReferencePhase(Options options) : options_(std::move(options)) {}

  enum class End {
    kSettled,
    kStopped,        // by the user
    kUnusable,       // `accept` has ended it
    kNotComparable,  // why() says why
  };
  Result<End> run();
  // Adds executions until there are `count`.
  Result<End> repeat(size_t count);

  // Of the last comparison, all of them with the same masks.
  const std::vector<ExecutionResult>& runs() const { return runs_; }
  // Of all comparisons, in the order in which they came.
  std::vector<const ExecutionRecord*> all() const;
  // What the test takes: the last execution of the first comparison, since the first one of all pays for what is loaded once.
  double seconds() const { return seconds_; }
  const std::string& why() const { return why_; }

 private:
  Result<End> settle();
  Nondeterminism compare() const;

  const Options options_;
  std::vector<ExecutionResult> runs_;
  std::vector<ExecutionRecord> earlier_;  // those before them
  double seconds_ = 0;
  std::string why_;
};

}  // namespace filibuster
