// Programs that carry the library and call themselves as a service does for which a session waits, but belong to another
// application (application.h): the session does not take them, and the user may have meant them.
#pragma once

#include <string>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/attach/proc.h"
#include "daemon/config/config.h"

namespace filibuster {

struct ProgramElsewhere {
  pid_t pid = 0;
  std::string executable;
  std::string application;  // "": not known
  bool operator==(const ProgramElsewhere&) const = default;
};

// Those of this user that are called `service`; none, if one of them belongs to `application`, since it only has not
// been used yet. Of processes that come from one another the first counts.
std::vector<ProgramElsewhere> programs_elsewhere(const attach::Proc& proc,
                                                 const std::string& service,
                                                 const std::string& application);

// A line for each service that somebody else starts, that has not joined the session, and as which programs
// elsewhere call themselves.
std::vector<std::string> who_may_be_meant(const attach::Proc& proc, const Config& config,
                                          const std::vector<AgentRecord>& joined);

}  // namespace filibuster
