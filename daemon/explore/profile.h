// Where the time of the executions of a test goes (`run --profile`).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "daemon/base/phases.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class Profile {
 public:
  void add(const Phases& execution);
  uint64_t executions() const { return executions_; }
  Phases median() const;
  const Phases& total() const { return total_; }

 private:
  static constexpr size_t kMost = 100'000;  // executions that count for the median
  uint64_t executions_ = 0;
  Phases total_;
  std::vector<Phases> list_;
};

}  // namespace filibuster
