// What a request of `trace` has besides.
#pragma once

#include "daemon/report/representation.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct TraceRequest final : VerbRequest {
  Representation representation = Representation::kCompact;
};

const Verb& trace_verb();
std::unique_ptr<Mode> make_trace_mode(const SessionRequest& request);
// `--follow`: watches what happens until the user ends it.
std::unique_ptr<Mode> make_follow_mode(const SessionRequest& request);

}  // namespace filibuster
