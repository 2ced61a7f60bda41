// What machines other than Filibuster read of a session: JUnit XML, SARIF, a Markdown summary
// (docs/ci.md). Each writer takes the whole report and gives a whole document. Secrets are
// redacted, and names with quotes, tags, control characters or bytes that are not UTF-8 leave every
// document valid.
#pragma once

#include <string>

#include "daemon/model/session_report.h"

namespace filibuster {

// One test suite for each test. One case for each RPC with each of its faults, by FaultCase::id;
// one for each finding that needs several faults; one for each RPC that was not tested.
std::string to_junit(const SessionReport& report);
// SARIF 2.1.0: one result for each finding, at the call site of its last fault. Files are named
// relative to SessionReport::working_directory.
std::string to_sarif(const SessionReport& report);
// For the summary page of a job. Never longer than kMaxMarkdown: what does not fit is counted.
std::string to_markdown(const SessionReport& report);
inline constexpr size_t kMaxMarkdown = 1'000'000;  // bytes; GitHub takes 1 MiB of each step

// For the end of the text for a person: what became of the rows of the baseline; "" without a
// baseline.
std::string baseline_text(const SessionReport& report);
// What was scheduled and not executed when the time was over; "" if that is nothing.
std::string left_text(const TestReport& test);
// "1 of 9 places without any fault, 3 single faults, 12 pairs"
std::string left_counts(const TestReport& test);
// "gateway -> catalog at gateway.py:33 (books): 12 pairs, 30 with more faults; single faults: refused, timeout (2)"
std::string left_line(const LeftPlace& place);
// The command that goes on with what the time did not suffice for; "" if it sufficed.
std::string goes_on_text(const SessionReport& report);

}  // namespace filibuster
