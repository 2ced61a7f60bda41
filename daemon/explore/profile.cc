#include "daemon/explore/profile.h"

#include <algorithm>

namespace filibuster {
namespace {

constexpr double Phases::*kPhases[] = {&Phases::prepare, &Phases::start, &Phases::rpcs,
                                       &Phases::test,    &Phases::quiet, &Phases::verdict,
                                       &Phases::store};

}  // namespace

void Profile::add(const Phases& execution) {
  ++executions_;
  for (const auto phase : kPhases) total_.*phase += execution.*phase;
  if (list_.size() < kMost) list_.push_back(execution);
}

Phases Profile::median() const {
  Phases out;
  if (list_.empty()) return out;
  std::vector<double> values(list_.size());
  for (const auto phase : kPhases) {
    std::transform(list_.begin(), list_.end(), values.begin(),
                   [&](const Phases& one) { return one.*phase; });
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    out.*phase = *middle;
  }
  return out;
}

}  // namespace filibuster
