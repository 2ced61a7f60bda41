// What `filibuster verify` has shown, and its documents.
#pragma once

#include <string>
#include <vector>

#include "daemon/cases/difference.h"
#include "daemon/cases/model.h"

namespace filibuster {

struct VerifiedCase {
  std::string name;   // of its file
  std::string file;   // absolute
  std::string route;  // "POST /orders"
  cases::Verdict verdict;
  uint32_t execution = 0;  // of its last replay
  double seconds = 0;
  bool updated = false;     // what differed is in the file now
  std::string not_updated;  // why it is not; "": it was not asked for, or it is
  std::string output;       // of the service, where the case did not pass
};

struct VerifyResults {
  std::string session, config_path, service, folder, working_directory;
  int exit_code = 0;
  std::string error;  // why it could not go on
  std::vector<VerifiedCase> cases;
  size_t all = 0;  // that there are, also those that were not begun
  std::vector<std::string> notes;
  // Calls that the service made by itself (at its start, in a loop), and that nothing recorded answers.
  std::vector<std::string> process_misses;

  size_t count(cases::Judged judged) const;
  // Of all cases that were replayed: those without calls prove nothing where others had calls, and none came. Nor is anything proven where
  // the service made calls by itself that are not recorded.
  cases::Judged judged() const;
};

std::string verify_json(const VerifyResults& results);
std::string verify_junit(const VerifyResults& results);
std::string verify_sarif(const VerifyResults& results);
std::string verify_markdown(const VerifyResults& results);
std::string verify_text(const VerifyResults& results);

}  // namespace filibuster
