// What the output of a test says of what failed in it: which tests, where, and with which values. There is no standard for such
// output. This reads what pytest, Python, GoogleTest, TAP, Node, mocha, the JVM, Go and Rust print, each by the lines that only it prints. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

struct FailedAssertion {
  std::string test;   // "test_shop.py::test_all_books"; "": the output does not say it
  std::string place;  // "test_shop.py:7", innermost frame of the test's own code where that is known; ""
  std::string what;   // "assert 500 in (200, 503)", "TimeoutError: timed out"; ""
};

// In the order of the output, at most 32. Empty: nothing was recognised.
std::vector<FailedAssertion> failed_assertions(std::string_view output);

// `text` with '#' in the place of what differs from run to run: numbers, and identifiers of hexadecimal digits.
std::string masked(std::string_view text);

}  // namespace filibuster
