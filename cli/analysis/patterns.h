// Finds where sources answer with the status of an error, by a table of patterns of the frameworks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/source.h"
#include "cli/analysis/statuses.h"

namespace filibuster::analysis {

// Functions and types of the sources themselves that take a status: `def answer(self, status,
// text)`, `record Answer(int status, String text)`, `struct Answer { int status; ... }`.
struct StatusTakers {
  struct Taker {
    std::string name;
    uint32_t argument = 0;  // which argument is the status, from 0
    auto operator<=>(const Taker&) const = default;
  };
  std::set<Taker> takers;
  bool aggregates = false;  // there are structures of C++ that begin with a status
};
void collect_status_takers(const Source& source, StatusTakers* out);

struct Sighting {
  uint32_t token = 0;
  Answer answer;
};
// Every status of an error that the source gives as an answer, in order.
std::vector<Sighting> find_answers(const Source& source, const StatusTakers& takers);

// Tokens where the status of another service's answer is passed on: `abort(response.status_code)`.
std::vector<uint32_t> find_passed_on(const Source& source, const StatusTakers& takers);

// A framework that makes a program a server, and what it answers if an exception is not caught.
struct Framework {
  std::string_view name;
  std::optional<Answer> uncaught;
  uint32_t token = 0;
};
std::vector<Framework> find_frameworks(const Source& source);

}  // namespace filibuster::analysis
