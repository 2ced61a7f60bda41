// What a test program says of the tests that failed in it, in its own words: their names, and the assertions with
// their values. It reads what pytest, unittest, GoogleTest, Go, Jest, Node's runner and TAP print, and what was taken from a
// runner's JUnit XML (suite::failed_cases_text). Of any other program it takes the last exception, else the last lines. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filibuster::suite {

struct FailedTest {
  std::string name;   // as its runner names it: "test_shop.py::test_order"; "": it is not known
  std::string said;   // the assertion that failed or the exception, of few lines
  std::string place;  // "test_shop.py:28"; "": it is not known
  std::string source = {};  // the line there, where its runner shows it: "assert len(charges) <= 1"
};

struct OwnWords {
  std::vector<FailedTest> failed;
  // False: what failed was not recognised, and `failed` has the last lines as they are, or nothing.
  bool recognised = false;
};

// `output`: the last lines of the test, and of services that ended.
OwnWords own_words(std::string_view output);

}  // namespace filibuster::suite
