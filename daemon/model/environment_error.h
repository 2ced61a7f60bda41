// Why a session, or one of its tests, could not be explored: a service that does not start, a test that fails
// without faults. It travels as the text of an Error, whose parts a page or a document shows apart:
//
//   service 'users' ended before it was ready (exit status 1)
//   last lines of /app/.filibuster/logs/users-0.log:
//   ImportError: no module named flask
//   what to do: start it by hand ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/model/session_report.h"

namespace filibuster {

struct EnvironmentError {
  std::string test;  // "": it is not that of one test
  std::string what;  // one line
  std::string
      title;  // of the lines: "last lines of /app/.filibuster/logs/users-0.log:"; "": there are none
  std::string lines;   // what the service or the test wrote last
  std::string remedy;  // what to do; "": nothing that is known
};

// `what` with what to do about it as its last line.
Error with_remedy(std::string what, std::string_view remedy);
// The parts of an Error's text. What has no such parts is `what` alone.
EnvironmentError parse_environment_error(std::string_view text);

// Those of a session: one for each test that could not be explored to its end, else that of the session.
std::vector<EnvironmentError> environment_errors(const SessionReport& report);

}  // namespace filibuster
