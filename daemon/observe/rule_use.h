// Which rules (of `faults` and of `nondeterminism`) matched an RPC in an exploration. A rule that never
// does most often has a misspelt name. If nobody said so, it would look like 'no failure found', or
// like a mask that does not help.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class RuleUse {
 public:
  explicit RuleUse(const Config& config)
      : config_(&config),
        matched_(config.faults.size()),
        masks_matched_(config.nondeterminism.size()) {}
  void see(const ExecutionRecord& record);
  // One line for each rule that names a service which is neither configured nor was seen.
  std::vector<std::string> unknown_services(const ExecutionRecord& reference) const;
  // One line for each rule that matched no RPC so far.
  std::vector<std::string> unmatched() const;

 private:
  std::string where(const FaultRule& rule, const char* kind) const;

  const Config* config_;
  std::vector<bool> matched_;  // by rule, in the order of the configuration
  std::vector<bool> masks_matched_;
};

}  // namespace filibuster
