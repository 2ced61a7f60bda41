// The baseline: findings that a team has accepted for a while (docs/ci.md). A run fails for what is
// new, and again for what was accepted until a day that has passed. A finding is known by its id,
// which stays the same when lines of the program move (finding.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"
#include "daemon/model/session_report.h"

namespace filibuster {

// True for a day of the calendar, "2026-12-31". Such texts compare as the days do.
bool is_date(std::string_view text);
// The day of UTC. `pretended`, if it is not empty, is given back in its place.
std::string today(std::string_view pretended);

struct Baseline {
  std::string path;      // "": there is none
  bool present = false;  // the file exists
  std::vector<Acceptance> accepted;
};

struct ParsedBaseline {
  Baseline baseline;
  std::vector<ConfigError> errors;  // empty: valid
};
// The text of a file, version 1. Unknown members and other versions are errors with their position:
// what this program does not understand is not taken for an acceptance.
ParsedBaseline parse_baseline(const std::string& text, const std::string& path);
// A file that does not exist gives a baseline that accepts nothing.
ParsedBaseline read_baseline(const std::string& path);
// The text of the file. The rows are sorted by test and finding, so that versions of it merge.
std::string to_text(const Baseline& baseline);
// Adds the row, or replaces the one with the same finding. True: it was replaced.
bool accept(const Acceptance& row, Baseline* baseline);

std::string_view state_name(RowState state);  // as in report.json

// Says of each finding of the report whether it is accepted on that day, and of each row what
// became of it.
void apply_baseline(const Baseline& baseline, const std::string& day, SessionReport* report);

}  // namespace filibuster
