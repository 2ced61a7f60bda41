// The file of a coverage plan (JSON, version 1; docs/schema/suite-plan.schema.json): made once from a reference run,
// executed elsewhere or again. It names tests and call sites by their texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/retries/coverage.h"

namespace filibuster::retries {

struct PlanFile {
  Metric metric = Metric::kC4;
  double seconds = 0;  // estimate
  double gap = 0;
  std::string why_gap;
  struct Fault {
    std::string test, site, policy;
    std::string attempts;  // text form of the sequence
    double seconds = 0;
    bool operator==(const Fault&) const = default;
  };
  std::vector<Fault> faults;
  struct Untried {
    std::string test, site;
    bool operator==(const Untried&) const = default;
  };
  std::vector<Untried> untried;
  bool operator==(const PlanFile&) const = default;
};

PlanFile to_file(const CoveragePlan& plan, const Reference& reference,
                 const std::vector<Policy>& policies);
std::string to_json(const PlanFile& file);
// Error: where the text is no plan of this version.
Result<PlanFile> parse_plan(std::string_view json);

}  // namespace filibuster::retries
