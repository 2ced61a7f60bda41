#include "daemon/model/session_report.h"

#include <algorithm>

namespace filibuster {

size_t SessionReport::failing() const {
  size_t number = 0;
  for (const TestReport& test : tests) {
    number +=
        static_cast<size_t>(std::count_if(test.findings.begin(), test.findings.end(),
                                          [](const Finding& finding) { return finding.fails(); }));
  }
  return number;
}

}  // namespace filibuster
