// What earlier requests left in the memory of the service: which cases need others before them. A case that is not the same alone is
// a unit with the shortest chain of earlier cases behind which it is as recorded (Case::start). A chain that has no end (a counter)
// is no unit, and such a case is refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/replay/admission.h"
#include "daemon/replay/case_set.h"

namespace filibuster::replay {

struct InnerState {
  size_t units = 0;                  // cases that need others, with their chain
  std::vector<RefusedCase> refused;  // they are not in the set any more
  size_t open = 0;                   // cases for which there was no time: they may need others
  size_t replays = 0;
  bool stopped = false;
};

// Precondition: all cases of the set pass in their order. Sets Case::start of each to names of files (cases::name_in_path).
Result<InnerState> find_inner_state(LoadedSet* set, Stage* stage);

}  // namespace filibuster::replay
