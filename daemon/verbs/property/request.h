// What a request of `property` has besides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/property/program_json.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct PropertyRequest final : VerbRequest {
  uint64_t seed = 0;        // of the first program; the next ones follow
  uint64_t programs = 100;  // with faults, at most
  // nullopt: as the configuration says.
  std::optional<uint64_t> clients = std::nullopt, repetitions = std::nullopt,
                          schedules = std::nullopt;
  struct Replay {
    property::ReadProgram program;
    std::string kind;  // of the violation
    uint64_t clients = 1;
  };
  std::optional<Replay> replay = std::nullopt;
  bool info_ends =
      false;  // a command whose outcome is not known ends its program, and violates nothing
};

const Verb& property_verb();
// Makes the request one that executes the program of a counterexample (Counterexample::property).
void replay_program(const std::string& property, RequestDraft* draft);
std::unique_ptr<Mode> make_property_mode(const SessionRequest& request);

}  // namespace filibuster
