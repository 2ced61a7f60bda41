// Which services follow a session that did not start them: those of its application
// (core/protocol/control_page.h).
#pragma once

#include <string>

#include "daemon/agents/control_pages.h"
#include "daemon/config/config.h"

namespace filibuster {

// The application of what runs in `directory`: the nearest one upwards with a filibuster.json, as
// the agents find it; else the directory itself.
std::string application_of(const std::string& directory);

// True if somebody else starts services of the application. If no service is configured, somebody else
// starts all of them.
bool waits_for_services_by_hand(const Config& config);

// A warning about other sessions that the same processes could follow; "": there are none.
std::string beside_others(const Config& config, const std::vector<OtherSession>& others);

}  // namespace filibuster
