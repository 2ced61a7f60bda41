// What a request of `property` has besides.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/session/verb.h"

namespace filibuster {

struct PropertyRequest final : VerbRequest {
  uint64_t seed = 0;        // of the first program; the next ones follow
  uint64_t programs = 100;  // with faults, at most
  // nullopt: as the configuration says.
  std::optional<uint64_t> clients = std::nullopt, repetitions = std::nullopt,
                          schedules = std::nullopt;
  bool info_ends =
      false;  // a command whose outcome is not known ends its program, and violates nothing
};

const Verb& property_verb();
std::unique_ptr<Mode> make_property_mode(const SessionRequest& request);

}  // namespace filibuster
