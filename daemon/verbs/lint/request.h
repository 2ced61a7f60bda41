// What a request of `lint` has besides.
#pragma once

#include "daemon/lint/lint.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct LintRequest final : VerbRequest {
  lint::Options options;
};

const Verb& lint_verb();
std::unique_ptr<Mode> make_lint_mode(const SessionRequest& request);

}  // namespace filibuster
