// What a request of `replay` has besides: a counterexample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/injected_fault.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct ReplayRequest final : VerbRequest {
  std::vector<InjectedFault> faults;
  std::string found_as;  // the verdict of the counterexample
  uint32_t index_parts = 0;
  uint32_t hang_limit_ms = 0;                                     // 0: that of the configuration
  std::optional<std::vector<NondeterminismRule>> nondeterminism;  // nullopt: the configuration's
};

const Verb& replay_verb();
std::unique_ptr<Mode> make_replay_mode(const SessionRequest& request);

}  // namespace filibuster
