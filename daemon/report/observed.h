// Which errors services answered with by themselves, and which of their own calls had failed before:
// `filibuster analyze` proposes faults for their callers from this.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/model/observed_answer.h"

namespace filibuster {

class ObservedAnswers {
 public:
  // Adds an execution that came as planned. True if it showed something new.
  bool see(const ExecutionRecord& record);
  // Ordered by service, path, method and answer.
  std::vector<ObservedAnswer> all() const;
  // Further rows are not kept.
  static constexpr size_t kMax = 1000;
  bool full() const { return rows_.size() >= kMax; }

  // The rows as text, which the store keeps so that a resumed session knows them. add_json() ignores
  // what it cannot read.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  std::map<std::string, ObservedAnswer> rows_;
};

}  // namespace filibuster
