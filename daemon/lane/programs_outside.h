// The processes that serve in an application without taking part in the session: what keeps the library out of them.
#pragma once

#include <string>

#include "daemon/attach/proc.h"
#include "daemon/config/config.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

// "pid 7 (/opt/users), which is statically linked: ..."; "": its file and its memory show no reason.
std::string why_outside(const attach::Proc& proc, pid_t pid);
// A sentence for the end of a text, about the process that listens at a port of the service: " At its port listens pid 7 ...".
std::string listener_outside(const attach::Proc& proc, const Config& config,
                             const SessionLane& lane, const std::string& service);

}  // namespace filibuster
