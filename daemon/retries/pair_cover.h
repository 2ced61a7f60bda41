// The cheapest set of pairs that covers two sets: an edge cover of least weight in a bipartite graph. It is given to the
// linear program's solver CLP (COIN-OR) as
//
//   minimise sum of cost * x   such that   the pairs at each vertex sum up to at least 1,   x >= 0
//
// The matrix of a bipartite graph is totally unimodular, so a vertex of the program, where the simplex method stops, is
// integral: no branching is needed, and none of the answer is rounded. The answer is certified by the dual
// solution: `lower_bound` is a sum of vertex prices that no cover can undercut.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"

namespace filibuster::retries {

struct CoverEdge {
  uint32_t left = 0, right = 0;
  double cost = 0;  // > 0
};

struct Cover {
  std::vector<size_t> edges;  // positions, ascending
  double cost = 0;
  double lower_bound = 0;  // of the cost of every cover
  bool stopped = false;    // the time was over: the cover may not be the cheapest
};

// Error: a vertex has no edge, a cost is not above 0, or the solver failed for another reason than time.
Result<Cover> cheapest_cover(uint32_t left, uint32_t right, const std::vector<CoverEdge>& edges,
                             double seconds);

}  // namespace filibuster::retries
