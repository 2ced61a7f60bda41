// One executed set of faults, with its result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/model/injected_fault.h"
#include "daemon/model/mending.h"
#include "daemon/model/verdict.h"

namespace filibuster {

struct Execution {  // one executed abstract execution with its result
  std::string test;
  uint32_t id = 0;      // search::AbstractId
  uint32_t number = 0;  // execution number in the session
  std::vector<InjectedFault> faults;
  Verdict verdict = Verdict::kPassed;
  std::string detail;  // "exit status 1", "users ended by SIGSEGV"
  std::string output;  // last lines of the test's own output
  // What the callers above the faults saw, a line each (seen.h); of failures only.
  std::vector<std::string> seen;
  Mending mending;  // what would mend it (daemon/lint/mending.h), of failures only
  double seconds = 0;
};

}  // namespace filibuster
