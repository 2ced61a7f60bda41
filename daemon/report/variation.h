// What differs between executions that should be equal, and what came of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/variation.h"

namespace filibuster {

// What helps where a service keeps something from one execution to the next.
inline constexpr std::string_view kFreshStart =
    "`\"restart\": \"each\"` gives a service a fresh start for each execution, a `before_execution` hook empties its store";

// "masked", "not faulted", ...
std::string_view effect_text(Variation::Effect effect);
// What people are told of all of them while the exploration runs, a line for each effect that matters: "4 values that vary from run to
// run take no part in telling calls apart, in 2 calls (...)". Of what comes and goes nothing.
std::vector<std::string> summary_of(const std::vector<Variation>& variations);

// The rows of an interrupted exploration, as JSON without secrets.
std::string to_json(const std::vector<Variation>& variations);
// The rows that can be read of such a text.
std::vector<Variation> variations_from(const std::string& text);

}  // namespace filibuster
