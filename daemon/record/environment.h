// What of the environment of a service decides what it answers, beside its configuration: the zone of its times, and the seed of
// Python's hashes where it has one. It is recorded with the cases, and given back in replays.
#pragma once

#include <map>
#include <string>

#include "daemon/config/config.h"

namespace filibuster::record {

// Name -> value. "TZ" is there also where the zone is that of the machine, and has a name (/etc/localtime is a link).
std::map<std::string, std::string> recorded_environment(const ServiceConfig& service);

// The name of this machine; "": it has none, or a longer one than is recorded.
std::string host_name();

// Gives it to a service that is replayed. What its configuration says itself stays, and so does the machine's zone if it is the same.
void restore_environment(const std::map<std::string, std::string>& recorded,
                         ServiceConfig* service);

}  // namespace filibuster::record
