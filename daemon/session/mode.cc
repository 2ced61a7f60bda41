#include "daemon/session/mode.h"

#include <algorithm>

namespace filibuster {

const char* Mode::meaning_of_moved_port() const {
  return "; requests that carry the port have other execution indexes than before";
}

std::unique_ptr<Explorer> Mode::explorer(SessionContext*, Lane*, const TestConfig&) {
  return nullptr;
}

bool has_findings(const SessionReport& report) {
  return std::any_of(report.tests.begin(), report.tests.end(),
                     [](const TestReport& test) { return !test.findings.empty(); });
}

bool has_skipped(const SessionReport& report) {
  return std::any_of(report.tests.begin(), report.tests.end(),
                     [](const TestReport& test) { return !test.skipped.empty(); });
}

}  // namespace filibuster
