// The findings of the last report, by the names that people know: `replay 3` and `accept 3` mean the same one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/result.h"

namespace filibuster::cli {

struct NamedFinding {
  std::string id, test;
  std::string what;            // "users -> movies GET /movies/1: timeout + ..."
  std::string counterexample;  // path of the file; "": there is none
};

// ROOT/report.json. Error: there is none, or it is no report.
Result<nlohmann::json> last_report(const std::string& root);
// `name`: the number of a finding, its id, or the path of its counterexample. Error: it has no such one, and says which it has.
Result<NamedFinding> find_finding(const nlohmann::json& report, const std::string& name,
                                  const std::string& root);

}  // namespace filibuster::cli
