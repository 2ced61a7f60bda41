// Checks of a history that need no search, in one pass over it (as Jepsen's): they say less than linearisability, also of histories
// that are too long for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/property/history.h"

namespace filibuster::property {

struct Problem {
  std::string text;
  std::vector<int> lines;  // of the invokes
};

// unique-ids      generate → an id: none is given twice
// total-queue     enqueue V, dequeue → V or null: no value comes out that was not put in, or more often, and what was put in comes out until
//                 the history ends
// set-full        add V, read → all values: a read has what was added before it began, and nothing that was never added; what one read has, no later
//                 one has lost
// counter-bounds  add N, read → the number: it is between the sums of what must and of what may have happened
// bank-totals     read → balances by account: no balance is negative, and their sum is that of the first read
const std::vector<std::string_view>& linear_check_names();

// Empty: none. Error: there is no such check, or a call is none of it ("LINE: expected ...").
Result<std::vector<Problem>> check_in_one_pass(std::string_view name, const History& history);

}  // namespace filibuster::property
