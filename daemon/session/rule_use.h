// Which fault rules found something to match in an exploration: a rule that never does is most often
// a misspelt name, and its silence would look like 'no failure found'.
#pragma once

#include <string>
#include <vector>

#include "daemon/agents/execution_record.h"
#include "daemon/config/config.h"

namespace filibuster {

class RuleUse {
 public:
  explicit RuleUse(const Config& config) : config_(&config), matched_(config.faults.size()) {}
  void see(const ExecutionRecord& record);
  // One line for each rule that names a service which is neither configured nor was seen.
  std::vector<std::string> unknown_services(const ExecutionRecord& reference) const;
  // One line for each rule that matched no RPC so far.
  std::vector<std::string> unmatched() const;

 private:
  std::string where(const FaultRule& rule) const;

  const Config* config_;
  std::vector<bool> matched_;  // by rule, in the order of the configuration
};

}  // namespace filibuster
