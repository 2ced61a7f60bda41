// What a property-based test has shown, and its documents: property.json, and a text for a person.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/property/program.h"

namespace filibuster {

// One item of a program that was executed.
struct ExecutedItem {
  property::Item item;
  nlohmann::json asked;  // the value with answers in the place of references
  std::string process;   // that asked; "": there is one client
  std::string
      outcome;  // "ok", "fail", "info", "armed", or "left out" (what it refers to has no answer)
  nlohmann::json answered;                 // of ok
  std::string reason;                      // of the others, as the client says it
  std::optional<nlohmann::json> expected;  // where the model says another answer
  std::vector<std::string>
      injected;  // calls that got a fault since the item before: "507 at web -> queue POST /enqueue"
};

// How a program violates the property. Two programs fail alike if their kinds are equal.
struct Violation {
  std::string kind;  // "answer:read", "info:write", "died:web", "order"
  std::string text;  // one sentence
};

// Of calls that no order explains.
struct LongestOrder {
  std::vector<size_t> items;    // from 0 on, in their order
  nlohmann::json state;         // behind them
  std::optional<size_t> stuck;  // the item that had to come next
};

struct ExecutedProgram {
  uint32_t number = 0;  // of the execution
  std::vector<ExecutedItem> items;
  std::optional<Violation> violation;
  std::vector<std::string> not_fired;   // armed faults to which no call came
  std::string output;                   // of a service that died
  std::string history;                  // of several clients, in JSON lines (docs/check.md)
  std::optional<LongestOrder> longest;  // of the kind "order"
  // What became of the program's holds.
  enum class Schedule : uint8_t { kNone, kHappened, kImpossible, kUnmet };
  Schedule schedule = Schedule::kNone;
};

struct PropertyFinding {
  uint64_t seed = 0;            // of the session
  uint64_t program_number = 0;  // of its programs, from 1; 0: it is the one without faults
  property::Program first;      // as it was generated
  ExecutedProgram shrunk;
  property::Program program;  // of `shrunk`
  uint32_t steps = 0;
  bool finished = true;                // of shrinking
  int replays = 0, replays_alike = 0;  // of the shrunk program
  uint32_t number = 0;                 // of its file
  std::string counterexample;          // the file; "": there is none
  bool is_replay = false;              // it was not searched for
  std::vector<std::string> invented;   // its faults that the service was not seen to give
};

struct PropertyTest {
  std::string test, error;
  std::string replay;  // what became of one; "": it was none
  std::vector<property::ArmableFault> faults;
  uint64_t executed = 0;    // programs with faults, without those of shrinking
  uint64_t executions = 0;  // of them: those of several clients are repeated
  std::map<ExecutedProgram::Schedule, uint64_t> schedules;
  uint64_t undecided = 0;  // executions whose history was too much for the checker
  uint64_t shrinking = 0;
  std::map<std::string, uint64_t> commands;          // "write ok", by outcome
  std::map<std::string, uint64_t> fired, not_fired;  // faults, with the calls
  std::map<std::string, uint64_t> labels;
  std::vector<PropertyFinding> findings;
  std::vector<std::string> notes;
  bool finished = false, time_over = false;
};

struct PropertyResults {
  std::string session, config_path, working_directory;
  int exit_code = 0;
  std::string error;
  uint64_t seed = 0;
  std::string root;         // of the session
  std::string root_option;  // " --root ROOT" where the user has to give it
  std::vector<PropertyTest> tests;
};

std::string property_json(const PropertyResults& results);
std::string property_text(const PropertyResults& results);

}  // namespace filibuster
