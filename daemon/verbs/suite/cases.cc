#include "daemon/verbs/suite/cases.h"

#include <algorithm>
#include <mutex>

namespace filibuster {

using retries::FaultRow;

Result<std::optional<Case>> SuiteCases::next() {
  const std::vector<size_t>& planned = *options_.planned;
  while (!left_out_ && at_ < planned.size()) {
    const size_t position = planned[at_++];
    FaultRow& row = options_.results->faults[position];
    if (row.execution != 0 || !row.skipped.empty()) continue;  // an earlier round had it
    time_over_ = time_over_ || options_.time_is_over();
    if (time_over_) {
      row.skipped = kSuiteTimeOver;
      continue;
    }
    const auto policy =
        std::find_if(options_.policies->begin(), options_.policies->end(),
                     [&](const retries::Policy& one) { return one.name == row.policy; });
    if (auto one = options_.tester->plan(*policy, position, &row)) return one;
    ++options_.memory->faults.done;
  }
  if (options_.is_last || time_over_) {
    if (auto checked = check_that_it_passes(); !checked) return checked.error();
  }
  return std::optional<Case>();
}

Result<Flow> SuiteCases::conclude(const Case& one, CaseOutcome result) {
  FaultRow& row = options_.results->faults[one.id];
  options_.tester->conclude(one, result, &row);
  options_.test->executions += row.tries;
  if (has_failed(one.id)) options_.test->unchecked.push_back(one.id);
  return options_.test->checked ? Flow::kGoesOn : check_that_it_passes();
}

Result<Flow> SuiteCases::check_that_it_passes() {
  if (options_.test->unchecked.empty()) return Flow::kGoesOn;
  auto why = options_.tester->control(options_.test);
  if (!why) return why.error();
  if (options_.tester->stopped()) return Flow::kStopped;
  if (!why->empty()) leave_out_the_rest(why.value());
  options_.test->checked = true;
  options_.test->unchecked.clear();
  return Flow::kGoesOn;
}

bool SuiteCases::has_failed(size_t position) const {
  const std::lock_guard lock(options_.memory->mutex);
  const auto found = options_.memory->evidence.find(position);
  return found != options_.memory->evidence.end() &&
         found->second.outcome.ending != retries::Ending::kPassed;
}

// Of a test that does not stand alone, what was seen since it was last known to pass, and what was not executed yet, say
// nothing.
void SuiteCases::leave_out_the_rest(const std::string& why) {
  left_out_ = true;
  for (retries::SuiteTestRow& row : options_.results->tests) {
    if (row.name == options_.test->row.name) row.left_out = why;
  }
  const std::lock_guard lock(options_.memory->mutex);
  for (const size_t position : options_.test->planned) {
    FaultRow& row = options_.results->faults[position];
    const bool open =
        std::ranges::find(options_.test->unchecked, position) != options_.test->unchecked.end();
    if (!open && (row.execution != 0 || !row.skipped.empty())) continue;
    row.execution = 0;
    row.skipped = "its test fails without any fault now, and was left out";
    options_.memory->evidence.erase(position);
  }
}

}  // namespace filibuster
