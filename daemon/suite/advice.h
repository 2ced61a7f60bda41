// What to do where a runner could not list its tests and its output alone does not say it.
#pragma once

#include <string>
#include <string_view>

namespace filibuster::suite {

// `said`: what the runner wrote. "": there is no advice.
std::string advice(std::string_view runner, std::string_view said);

}  // namespace filibuster::suite
