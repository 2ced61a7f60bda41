// What is kept of every execution of a search, for the report.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "daemon/store/store.h"

namespace filibuster {

struct EndedExecution {
  uint32_t number = 0;
  Verdict verdict = Verdict::kPassed;
  float seconds = 0;
};

class EndedExecutions {
 public:
  using ById = std::unordered_map<search::AbstractId, EndedExecution>;

  void put(const search::ResultRow& row);
  // An execution has got another id.
  void rename(search::AbstractId before, const search::ResultRow& row);
  // nullptr: it has not ended.
  const EndedExecution* find(search::AbstractId id) const;
  const ById& by_id() const { return by_id_; }
  // The search began anew: its executions have other ids.
  void forget_ids() { by_id_.clear(); }
  // Nothing is known any more.
  void clear();

  // What one execution took, for the median. 0: none has ended.
  void add_seconds(double seconds) { seconds_.push_back(static_cast<float>(seconds)); }
  double median_seconds() const;

  // Numbers of the executions whose trees are in the store.
  std::set<uint32_t> trees;

 private:
  ById by_id_;
  std::vector<float> seconds_;
};

}  // namespace filibuster
