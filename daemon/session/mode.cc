#include "daemon/session/mode.h"

#include <algorithm>

namespace filibuster {

std::unique_ptr<Mode> Mode::make(const SessionRequest& request) {
  switch (request.verb) {
    case SessionRequest::Verb::kReplay:
      return make_replay_mode(request);
    case SessionRequest::Verb::kTrace:
      return request.follow ? make_follow_mode(request) : make_trace_mode(request);
    case SessionRequest::Verb::kLint:
      return make_lint_mode(request);
    case SessionRequest::Verb::kSuite:
      return make_suite_mode(request);
    case SessionRequest::Verb::kRun:
      break;
  }
  return make_run_mode(request);
}

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
