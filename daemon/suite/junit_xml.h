// JUnit XML: what a test runner says of each test that it ran. The format has no standard. This reads
// what pytest, GoogleTest, mocha (xunit), Node and JUnit's console launcher write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::suite {

enum class CaseResult : uint8_t { kPassed, kFailed, kSkipped };

struct JunitCase {
  std::string group, name;  // classname, name
  CaseResult result = CaseResult::kPassed;
  std::string message;  // message of the first failure, or why the test was skipped
  std::string stack;    // text of the first failure
};

// The cases in the order of the file. Error: it is no XML, or has no test suite.
Result<std::vector<JunitCase>> parse_junit(std::string_view xml);

// What the runner says of each failed case, below a line with its name between these two. Cases whose message stands
// in `printed` are left out: whoever reads that has it already.
inline constexpr std::string_view kResultOf = "--- the runner's result of ", kResultEnd = " ---";
std::string failed_cases_text(const std::vector<JunitCase>& cases, std::string_view printed);

}  // namespace filibuster::suite
