#include "daemon/verbs/verbs.h"

#include <array>

#include "daemon/verbs/lint/request.h"
#include "daemon/verbs/replay/request.h"
#include "daemon/verbs/run/request.h"
#include "daemon/verbs/suite/request.h"
#include "daemon/verbs/trace/request.h"

namespace filibuster {
namespace {

const std::array kVerbs = {&run_verb(), &replay_verb(), &trace_verb(), &lint_verb(), &suite_verb()};

}  // namespace

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : kVerbs) {
    if (verb->name() == name) return verb;
  }
  return nullptr;
}

std::string verb_names() {
  std::string out;
  for (size_t i = 0; i < kVerbs.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == kVerbs.size() ? " or " : ", ").append(kVerbs[i]->name());
  return out;
}

}  // namespace filibuster
