// Whose services follow a session that are not started by it (core/protocol/control_page.h).
#pragma once

#include <string>

#include "daemon/agents/control_pages.h"
#include "daemon/config/config.h"

namespace filibuster {

// The application of what runs in `directory`: the nearest one upwards with a filibuster.json, as
// the agents find it; else the directory itself.
std::string application_of(const std::string& directory);

// Does somebody else start services of it? Where no service is named, all of them.
bool waits_for_services_by_hand(const Config& config);

// What to say of sessions that the same processes could follow; "" where there are none.
std::string beside_others(const Config& config, const std::vector<OtherSession>& others);

}  // namespace filibuster
