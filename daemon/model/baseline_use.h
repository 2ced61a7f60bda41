// What a session made of its baseline: the findings that a team has accepted for a while (docs/ci.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {

// One row of the file: `finding` is accepted up to and with the day `until`.
struct Acceptance {
  std::string finding, test, what, because, until;
};

// What became of a row in one session.
enum class RowState : uint8_t {
  kAccepted,      // its finding was found, and the day has not passed
  kExpired,       // its finding was found after that day: it fails again
  kNotFound,      // its test was explored whole, and does not have the finding any more
  kNotLookedFor,  // its test was not explored whole in this session
};
// What a session made of its baseline.
struct BaselineUse {
  std::string path, day;  // `path` is empty if there is no baseline
  bool present = false;   // the file exists
  struct Row {
    Acceptance row;
    RowState state = RowState::kNotLookedFor;
  };
  std::vector<Row> rows;
};

}  // namespace filibuster
