// What services answered in an earlier run (report.json), and which services they asked.
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
  std::set<std::string> speaks_http, speaks_grpc;  // services, by the protocol of the calls to them
  bool explored = false;                           // there were executions with faults
};
// `file` is the name that messages show. The Error names it.
Result<Observations> read_report(const std::string& file, const std::string& text);

// Replaces each path of the evidence that was called ("/users/7") by the endpoint that serves it
// ("/users/*"): the most specific one, the first of equals. A path that no endpoint serves is removed.
void find_endpoints(const std::vector<Endpoint>& endpoints, std::vector<Evidence>* evidence);

// `order` has each service after the services that it asks. Services that ask each other in a circle
// come together, in the order of `names`, and are also listed in `circles`.
struct LeavesFirst {
  std::vector<std::string> order;
  std::vector<std::vector<std::string>> circles;
};
LeavesFirst leaves_first(const std::vector<std::string>& names,
                         const std::map<std::string, std::set<std::string>>& asks);

}  // namespace filibuster::analysis
