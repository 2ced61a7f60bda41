// The verbs that have a session.
#pragma once

#include <string>
#include <string_view>

#include "daemon/session/verb.h"

namespace filibuster {

// Null: there is none of this name.
const Verb* find_verb(std::string_view name);
// "run, replay, trace, lint or suite": for messages.
std::string verb_names();

}  // namespace filibuster
