#include "daemon/explore/ended_executions.h"

#include <algorithm>

namespace filibuster {

void EndedExecutions::put(const search::ResultRow& row) {
  by_id_[row.id] = {row.number, row.verdict, static_cast<float>(row.seconds)};
}

void EndedExecutions::rename(search::AbstractId before, const search::ResultRow& row) {
  by_id_.erase(before);
  put(row);
}

const EndedExecution* EndedExecutions::find(search::AbstractId id) const {
  const auto row = by_id_.find(id);
  return row == by_id_.end() ? nullptr : &row->second;
}

void EndedExecutions::clear() {
  by_id_.clear();
  seconds_.clear();
  trees.clear();
}

double EndedExecutions::median_seconds() const {
  if (seconds_.empty()) return 0;
  std::vector<float> sorted = seconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace filibuster
