// What an earlier run saw services answer (report.json), and who asks whom.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/analysis/scan.h"
#include "core/result.h"

namespace filibuster::analysis {

struct Observations {
  std::map<std::string, std::vector<Evidence>> answers;  // by service
  std::map<std::string, std::set<std::string>> asks;     // caller -> services
  std::set<std::string> speaks_http, speaks_grpc;        // services, as they were asked
  bool explored = false;  // with faults: what services make of failures was seen
};
// `file` as it is shown. The Error names it.
Result<Observations> read_report(const std::string& file, const std::string& text);

// A path as it was asked for ("/users/7") belongs to the endpoint that serves it ("/users/*"): the
// first of the most specific ones, or to none.
void find_endpoints(const std::vector<Endpoint>& endpoints, std::vector<Evidence>* evidence);

// Services in an order in which each comes after those that it asks; services that ask each other
// in a circle come together, in the order of `names`, and are listed.
struct LeavesFirst {
  std::vector<std::string> order;
  std::vector<std::vector<std::string>> circles;
};
LeavesFirst leaves_first(const std::vector<std::string>& names,
                         const std::map<std::string, std::set<std::string>>& asks);

}  // namespace filibuster::analysis
