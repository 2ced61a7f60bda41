// What a test runner says of a failed test, read: the exceptions with their frames, or the assertion. It reads what
// Python, pytest, Node, the JVM and GoogleTest print; what it does not recognise stays text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filibuster::suite {

// How an exception relates to the one that was raised after it.
enum class Link : uint8_t {
  kLast = 0,  // it is the one that failed the test
  kCause,     // "raise ... from", "Caused by:", "cause": the later one stands for it
  kContext,   // "During handling of the above exception": the later one came while it was handled
};

struct Raised {
  std::string type;  // "requests.exceptions.ReadTimeout", "TypeError"
  std::string message;
  std::vector<std::string> frames;  // innermost first, "file:line (function)"
  Link link = Link::kLast;
};

struct Failure {
  std::vector<Raised>
      chain;  // the exception that failed the test first, then what it came from; empty: none was read
  bool assertion = false;  // an assertion of the test failed
  std::string text;        // what was read
};

// `text`: the failure's message and stack, as a runner wrote them (JUnit XML), or the test's last lines.
Failure read_failure(std::string_view text);

// Is this the type of an exception that an assertion raises?
bool is_assertion_type(std::string_view type);
// The type without its module or package: "ReadTimeout".
std::string_view short_type(std::string_view type);
// The text of an assertion without what varies from run to run: numbers in hexadecimal, ports, times, paths' folders.
std::string assertion_key(const Failure& failure);

}  // namespace filibuster::suite
