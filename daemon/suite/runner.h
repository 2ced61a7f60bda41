// Test suites that exist already: how the tests of each runner are listed, how one of them is run alone,
// and where it says what became of it. One row for each runner (runners.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::suite {

struct Suite {
  std::string runner;   // "pytest"; empty: none of these
  std::string program;  // text for a shell that starts the runner; empty: the runner's own name
  std::string path;     // where the tests are
};

struct SuiteTest {
  std::string name;  // unique in its suite, the same from run to run
  std::string file;  // where `each` needs it; else ""
  std::string id;    // as the runner calls it
};

struct Runner {
  std::string_view name;     // in the configuration
  std::string_view program;  // where the configuration names none
  // A command for /bin/sh that prints the tests, or writes them to `out`.
  std::string (*list)(const Suite& suite, const std::string& out);
  // What it printed, or wrote, in the order of the runner. Error: what is wrong with it.
  Result<std::vector<SuiteTest>> (*parse)(const std::string& text, const std::string& directory);
  bool writes_list;  // to `out`
  // A command for /bin/sh that runs one test. It writes JUnit XML to `xml`, where the runner can.
  std::string (*each)(const Suite& suite, const SuiteTest& test, const std::string& xml);
};

// nullptr: there is none of this name.
const Runner* find_runner(std::string_view name);
// "pytest, unittest, ...": for messages.
std::string runner_names();

// A regular expression (of JavaScript) that matches `text` and nothing else.
std::string exact_pattern(std::string_view text);

}  // namespace filibuster::suite
