// Test suites that exist already: how a runner lists its tests, how it runs one of them alone, and where
// it writes the result. One row for each runner (runners.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::suite {

struct Suite {
  std::string runner;   // "pytest"; empty: the configuration has commands of its own instead
  std::string program;  // text for a shell that starts the runner; empty: Runner::program
  std::string path;     // where the tests are; for gtest, the test program; for junit, a folder or
                        // jar on the class path
};

struct SuiteTest {
  std::string name;  // unique in its suite, the same from run to run
  std::string file;  // relative to the suite's folder; "": not known, and `each` does not need it
  std::string id;    // the runner's own name of the test
};

struct Runner {
  std::string_view name;     // in the configuration
  std::string_view program;  // used if the configuration names no program
  // A command for /bin/sh that prints the tests, or writes them to `out`.
  std::string (*list)(const Suite& suite, const std::string& out);
  // The tests in what `list` printed or wrote, in the runner's order. Error: what is wrong with the text.
  Result<std::vector<SuiteTest>> (*parse)(const std::string& text, const std::string& directory);
  bool writes_list;  // true: `list` writes to `out`; false: it prints
  // A command for /bin/sh that runs one test. It writes JUnit XML to `xml`, if the runner can, and what only the runner
  // has kept from ending the process to `uncaught_path(xml)`, if it can tell that.
  std::string (*each)(const Suite& suite, const SuiteTest& test, const std::string& xml);
  // Its own limits for a test are lifted, since silences are waited for: "mocha's limit for a test is lifted (--timeout 0)".
  // "": it has none.
  std::string_view lifted;
};

// nullptr: there is none of this name.
const Runner* find_runner(std::string_view name);
// "pytest, unittest, ...": for messages.
std::string runner_names();

// The suite's command, or the runner's. One that npx would look for is taken from where it is installed, in node_modules of
// `directory` or further out ("node_modules/.bin/mocha --exit" of "npx mocha --exit"): npx takes half a second each time, and would
// download what is not there.
std::string installed_program(const Runner& runner, const Suite& suite,
                              const std::string& directory);

// A line "uncaughtException" or "unhandledRejection", then the stack.
std::string uncaught_path(const std::string& xml);

// What a reader needs of a test's name, without its file or class: "uploads twice" of "test/blob.test.js > uploads twice", "test_pay" of
// "tests/test_shop.py::test_pay", "pays()" of "shop.PayTest#pays()".
std::string short_name(const std::string& name);

// A regular expression (of JavaScript) that matches `text` and nothing else.
std::string exact_pattern(std::string_view text);

}  // namespace filibuster::suite
