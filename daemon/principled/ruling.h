// What an execution has to be compared with: the rule of its faults (dissertation 11.2.3, 11.3.4.1 and 11.3.4.2).
//
// A single fault has the most precise statement that matches it. Of several faults, a statement that names exactly these counts
// first. Faults that are declared to have no impact are left out then: with none left the test's own assertions hold, with one left
// its statement does, and with fewer than before a statement about exactly these is looked for again. Otherwise nothing says what
// holds, and nothing is guessed. Nothing is left unexecuted for that: what is derived is compared with what happens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/principled/statements.h"

namespace filibuster::principled {

struct Step {
  Instruction run;
  DiagnosticKind if_it_fails;
};

struct Ruling {
  std::optional<Diagnostic> diagnostic;  // it is decided already, without any assertion
  std::vector<Step> steps;               // else: what has to hold
  std::vector<size_t> matched;  // Statements::specifications that were true of this execution
};

// `faults`: those that were injected, at least one. `outcome`: how the service answered.
Ruling rule(const Statements& statements, const std::vector<FaultedCall>& faults,
            const Thrown& outcome);

}  // namespace filibuster::principled
