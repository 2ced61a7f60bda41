// A session, for a person: the text for the terminal at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/model/session_report.h"

namespace filibuster {

// Findings first, then what was not tested and why, then notes, and the counts at the end, with `coverage` before them.
std::string to_text(const SessionReport& report, const std::string& coverage = "");
// The last line: which RPCs were tested, over all tests. "" if there were no RPCs.
std::string tested_text(const SessionReport& report);
// What one execution could not show: the connections that were not interposed, and notes. "" if nothing.
std::string limits_text(const TestReport& test);
// "2 requests carried ...", for notes.
std::string damaged_fields_text(uint64_t requests);
// What that means for what a report says, a line each; {}: none is attached.
std::vector<std::string> attached_notes(const std::vector<AttachedRow>& attached);

}  // namespace filibuster
