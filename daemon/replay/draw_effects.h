// Which random numbers have an effect. Cases are replayed with other numbers in the place of those that were drawn at some places of the program:
// of all places at first, then of halves of those that have an effect (adaptive group testing), and at last of all that have none at once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/result.h"
#include "daemon/replay/case_set.h"

namespace filibuster::replay {

// How one replay of a case ended: what differed, and how. Empty: it passed.
using Ending = std::map<std::string, Hash128>;
// Of all cases. Empty: the session is to end.
using Endings = std::vector<Ending>;
// Replays all cases of the set, each as the function makes it.
using ReplayAll =
    std::function<Result<Endings>(const std::function<cases::Case(const cases::Case&)>&)>;

struct DrawEffects {
  bool has_unfit = false;  // at some place, so that something varies now
  bool stopped = false;
};

// Says the effect of each place in set->set.draws, and takes the numbers out of the cases that have none, or are unfit (cases::DrawPoint).
// `keep`: globs over frames and sources of places whose numbers stay.
Result<DrawEffects> find_draw_effects(LoadedSet* set, const std::vector<std::string>& keep,
                                      const ReplayAll& replay);

}  // namespace filibuster::replay
