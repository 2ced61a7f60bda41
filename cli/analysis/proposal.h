// Turns the evidence for the faults of each service into rules of the configuration.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/analysis/scan.h"

namespace filibuster::analysis {

enum class Protocol : uint8_t { kUnknown, kHttp, kGrpc, kBoth };

// All that is known of one service.
struct ServiceFacts {
  std::string name;
  Protocol protocol = Protocol::kUnknown;
  bool looked_at = false;              // something was read that could have named a status
  std::vector<Evidence> evidence;      // from documents, sources and observations
  std::vector<Endpoint> endpoints;     // that the service is known to serve
  std::vector<std::string> looked_in;  // "Flask (users.py:12)", "users.py", "openapi.yaml"
  std::vector<std::string> passed_on;  // places that pass on statuses of other services
  std::vector<std::string> remarks;    // what was skipped, and why
};

struct ProposedRule {
  std::string service;
  Endpoint on;
  std::vector<std::string> inject;    // texts of faults: "refused", "status:404"
  std::vector<std::string> evidence;  // "status:404: users.py:31: ..."
};

struct ServiceProposal {
  const ServiceFacts* facts = nullptr;
  bool is_default = false;  // there is no evidence, and the default set is proposed
  std::vector<ProposedRule> rules;
};

// The rules are in the order in which the configuration must have them. `facts` must outlive the result.
std::vector<ServiceProposal> propose(const std::vector<ServiceFacts>& facts);

// The value of `faults` in the configuration.
nlohmann::ordered_json to_json(const std::vector<ServiceProposal>& proposals);
// For people: a table for each service.
std::string to_text(const std::vector<ServiceProposal>& proposals);

}  // namespace filibuster::analysis
