// What a request of `suite` has besides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/retries/plan_file.h"
#include "daemon/retries/policies.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct SuiteRequest final : VerbRequest {
  retries::Metric metric = retries::Metric::kC4;
  std::vector<retries::Policy> policies;  // in order
  bool estimate = false;                  // nothing is faulted
  std::string write_plan;                 // absolute path; "": no plan is written
  std::optional<retries::PlanFile> plan;  // what to execute, in the place of a metric
};

const Verb& suite_verb();
std::unique_ptr<Mode> make_suite_mode(const SessionRequest& request);

}  // namespace filibuster
