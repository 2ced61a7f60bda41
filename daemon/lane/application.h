// Which services follow a session that did not start them: those of its application
// (core/protocol/control_page.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/agents/control_pages.h"
#include "daemon/config/config.h"

namespace filibuster {

// The application of what runs in `directory`: the nearest one upwards with a filibuster.json, as
// the agents find it; else the directory itself.
std::string application_of(const std::string& directory);

// The names of the services that may carry the library: those that somebody starts by hand may join by
// them. None: the configuration lists none.
std::set<std::string> services_of_application(const Config& config);

// The services that somebody else starts with the library.
std::vector<std::string> services_by_hand(const Config& config);

// A warning about other sessions of the same application; "": there are none.
std::string beside_others(const std::vector<OtherSession>& others);

}  // namespace filibuster
