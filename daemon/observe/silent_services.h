#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

// Services of the application that answered from a process without an agent (a worker that changed
// its user, a static program), each with a line that says so. Saying nothing would break law 2
// (docs/laws.md). `agents`: who has registered, since a service of which a process takes part is told of otherwise.
std::map<std::string, std::string> services_without_agent(const Config& config,
                                                          const ExecutionRecord& record,
                                                          const std::vector<AgentRecord>& agents);

}  // namespace filibuster
