// What a request of `run` has besides.
#pragma once

#include "daemon/session/verb.h"

namespace filibuster {

struct RunRequest final : VerbRequest {
  bool profile = false;  // the summary says where the time goes
};

const Verb& run_verb();
std::unique_ptr<Mode> make_run_mode(const SessionRequest& request);

}  // namespace filibuster
