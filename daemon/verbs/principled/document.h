// The documents of principled testing: principled.json (docs/schema/principled.schema.json), JUnit XML, SARIF, and the text for a
// person.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/session_report.h"
#include "daemon/verbs/principled/results.h"

namespace filibuster {

struct PrincipledResults {
  std::string session, config_path, working_directory;
  int exit_code = 0;
  std::string error;  // what ended the session early
  std::vector<PrincipledTest> tests;
  std::vector<principled::Diagnostic> diagnostics;  // of no single test
};

std::string principled_json(const PrincipledResults& results);
std::string principled_junit(const PrincipledResults& results);
std::string principled_sarif(const PrincipledResults& results);
std::string principled_text(const PrincipledResults& results);

}  // namespace filibuster
