// What a search has come to.
#pragma once

#include <cstdint>

namespace filibuster {

namespace search {

struct SearchCounts {
  uint64_t scheduled = 0;     // abstract executions ever scheduled (without the reference)
  uint64_t executed = 0;      // with the reference
  uint64_t redundant = 0;     // pruned by ESR: foreseen, not executed
  uint64_t duplicate = 0;     // the same faults were scheduled or explored already
  uint64_t beyond_bound = 0;  // not scheduled or not executed because of a bound
  uint64_t open = 0;          // scheduled and not yet decided
  uint64_t abandoned = 0;     // executed without a conclusion
  uint64_t left_out = 0;      // an RPC that comes and goes by itself did not come for them
};

// Places are call sites, each with the service that it calls, where a fault is or was to be injected.
struct Places {
  uint64_t known = 0;
  uint64_t tried = 0;  // an execution with a fault there has run
};

// Seconds on a processor of this process (a resumed search begins at 0), without the journal's writes.
struct SearchSeconds {
  double scheduling = 0;  // taking in what was executed, scheduling what follows from it
  double reduction = 0;   // finding the next execution that is not redundant
};

}  // namespace search

}  // namespace filibuster
