#include "daemon/verbs/verbs.h"

#include <array>

#include "daemon/verbs/lint/request.h"
#include "daemon/verbs/principled/request.h"
#include "daemon/verbs/property/request.h"
#include "daemon/verbs/record/request.h"
#include "daemon/verbs/replay/request.h"
#include "daemon/verbs/run/request.h"
#include "daemon/verbs/suite/request.h"
#include "daemon/verbs/trace/request.h"
#include "daemon/verbs/verify/request.h"

namespace filibuster {
namespace {

// In the order in which messages name them.
const auto& verbs() {
  static const std::array all{&run_verb(),      &replay_verb(), &trace_verb(),
                              &lint_verb(),     &suite_verb(),  &principled_verb(),
                              &property_verb(), &record_verb(), &verify_verb()};
  return all;
}

}  // namespace

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : verbs()) {
    if (verb->name() == name) return verb;
  }
  return nullptr;
}

std::string verb_names() {
  std::string out;
  for (const Verb* verb : verbs()) {
    if (!out.empty()) out += verb == verbs().back() ? " or " : ", ";
    out += verb->name();
  }
  return out;
}

}  // namespace filibuster
