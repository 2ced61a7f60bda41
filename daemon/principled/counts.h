// How often dependencies are called, compared with what a principled test states (dissertation 11.2.1 and 11.2.2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/principled/statements.h"

namespace filibuster::principled {

// A call to a dependency, in the order of issue.
struct DependencyCall {
  stubs::Call call;
  bool reached = true;  // the dependency has got it
  bool faulted = false;
  bool stubbed = true;  // its service has no process
};

// Of the calls of the execution without faults, what the counts have to say: each stub is covered by an exact count of its method,
// or of its method and arguments, or is read-only. nullopt: all is said.
std::optional<Diagnostic> uncovered_stub(const Statements& statements);

struct CountQuestion {
  const Statements& statements;
  const std::vector<DependencyCall>& calls;  // of this execution, in the block `execute`
  // Under faults: what was called in the execution that had all of these faults but the last one; it says what comes after the fault.
  // nullptr: there are no faults.
  const std::vector<DependencyCall>* before = nullptr;
  const std::vector<FaultedCall>& faults;
  bool thrown = false;
};
// Compares each count with what has reached its dependency. Expected is the count less the faults that kept a request away. Where the
// service answers with an error, each dependency that comes after the fault has to be declared again. nullopt: all counts are right.
std::optional<Diagnostic> wrong_count(const CountQuestion& question);

}  // namespace filibuster::principled
