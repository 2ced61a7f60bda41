// What to write where a diagnostic says that something is missing: statements to paste, ranked (dissertation 11.3.3). The coarsest
// statement that agrees with everything seen so far comes first; one that does not agree is never offered.
#pragma once

#include <optional>
#include <vector>

#include "daemon/principled/counts.h"
#include "daemon/principled/diagnostic.h"
#include "daemon/principled/statements.h"

namespace filibuster::principled {

// What one fault alone has led to.
struct SingleOutcome {
  FaultedCall fault;
  Thrown outcome;
  bool assertions_hold = false;  // those of the test without faults; where it has not thrown
};

struct CoachContext {
  std::string form;              // Program::form()
  Thrown outcome;                // of the execution that the diagnostic is about
  bool assertions_hold = false;  // SingleOutcome, of that execution
  // Of calls of the same methods, each alone: seen before, or run ahead to know it.
  std::vector<SingleOutcome> singles;
  // Of that execution, and of the one without its last fault.
  std::vector<DependencyCall> calls, before;
  std::vector<Count> declared_again;  // in that execution
};
// Fills Diagnostic::remedies.
void coach(const CoachContext& context, Diagnostic* diagnostic);

}  // namespace filibuster::principled
