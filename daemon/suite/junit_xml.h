// JUnit XML: what a test runner says of each test that it ran. There is no standard of it; read is what
// pytest, GoogleTest, mocha (xunit), jest-junit, Node and JUnit's console launcher write.
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
  std::string message;  // of its failure, or why it was skipped
  std::string stack;    // the text of its failure
};

// The cases in their order. Error: it is no XML, or has no test suite.
Result<std::vector<JunitCase>> parse_junit(std::string_view xml);

}  // namespace filibuster::suite
