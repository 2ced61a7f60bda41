// The application of which one service alone has processes, and what is a part of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "daemon/cases/model.h"
#include "daemon/config/config.h"
#include "daemon/replay/case_set.h"

namespace filibuster::replay {

// The services that are a part of this one (`part_of`), but for those that are to be answered for all the same.
std::set<std::string> parts_of(const Config& config, const std::string& service,
                               const std::set<std::string>& mocked);

// `mock` of a request; and whether the configuration has these.
std::set<std::string> mocked_in(const nlohmann::json& options);
void check_mocked(const std::set<std::string>& mocked, const Config& config,
                  std::vector<ConfigError>* errors);

// What cases have calls to.
std::set<std::string> called_in(const LoadedSet& set);

// What the service and its parts call is answered from cases, whatever the configuration says of it. There is one test, which runs nothing.
void leave_alone(const std::string& service, const std::set<std::string>& parts, Config* config);

}  // namespace filibuster::replay
