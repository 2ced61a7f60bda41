#include "daemon/session/suites.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/text/escapes.h"
#include "core/text/nearest.h"
#include "daemon/explore/program_files.h"
#include "daemon/process/process.h"
#include "daemon/suite/advice.h"
#include "daemon/suite/runner.h"

namespace filibuster {
namespace {

constexpr std::chrono::minutes kListLimit{10};  // listing may import all tests
constexpr std::chrono::seconds kKillLimit{5};
constexpr int kErrorLines = 20;

std::string shown(const SuiteConfig& suite) {
  if (suite.runner.empty()) return "with 'list' and 'each'";
  return "of " + suite.runner + (suite.path.empty() ? "" : " (" + suite.path + ")");
}

// A command may bring a program of many lines.
std::string one_line(const std::string& command) {
  const size_t end = command.find('\n');
  return end == command.npos ? command : command.substr(0, end) + " ...";
}

std::string read_whole(const std::string& path) {
  const auto text = read_file(path);
  return text.ok() ? text.value() : "";
}

Command shell(const std::string& text) {
  return {{"/bin/sh", "-c", text}};
}

class Listing {
 public:
  Listing(const Config& config, const SessionLane& lane, const TestConfig& test)
      : config_(config),
        lane_(lane),
        test_(test),
        suite_(*test.suite),
        runner_(suite::find_runner(suite_.runner)) {}

  Result<std::vector<TestConfig>> list() {
    const std::string directory = lane_directory(config_, test_.directory);
    if (runner_ != nullptr) suite_.program = suite::installed_program(*runner_, suite_, directory);
    auto text = output(directory);
    if (!text) return text.error();
    auto tests = parse(text.value(), directory);
    if (!tests) return problem("cannot be read from what lists them: " + tests.error().message);
    if (tests->empty()) return Error{"the suite " + shown(suite_) + " has no tests"};
    // A runner cannot tell two tests of one name in one file apart, and runs both.
    std::vector<TestConfig> out;
    std::set<std::string> names;
    for (const suite::SuiteTest& one : tests.value()) {
      if (runner_ == nullptr || names.insert(one.name).second) out.push_back(make(one));
    }
    return out;
  }

 private:
  Error problem(const std::string& what) const {
    return Error{"the tests of the suite " + shown(suite_) + " " + what};
  }

  // The list as the command prints it, or writes it to a file.
  Result<std::string> output(const std::string& directory) {
    const std::string out = lane_.log_path("suite"), errors = lane_.log_path("suite-errors");
    const std::string file = out + ".json";
    const Command command = runner_ != nullptr ? shell(runner_->list(suite_, file)) : suite_.list;
    const auto argv = lane_command(lane_, command);
    if (!argv) return argv.error();
    auto environment = lane_environment(lane_, "test", test_.env, Interpose::kNo, {});
    if (!environment) return environment.error();
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    SpawnOptions options;
    // Errors go to another file, since lines of the log are names of tests.
    options.argv = {"/bin/sh", "-c", "exec 2>\"$0\"; exec \"$@\"", errors};
    options.argv.insert(options.argv.end(), argv->begin(), argv->end());
    options.environment = std::move(environment).value();
    options.directory = directory;
    options.log_path = out;
    auto process = Process::spawn(options);
    if (!process) return problem("cannot be listed: " + process.error().message);
    const auto status = process->wait(kListLimit, lane_.wake_fd);
    if (!status) {
      process->kill_group(SIGKILL);
      process->wait(kKillLimit);
      return problem("cannot be listed: the command did not end");
    }
    if (!status->success()) {
      const std::string failed = "cannot be listed (" + to_text(*status) + "): ";
      const std::string advice = suite::advice(suite_.runner, read_whole(errors));
      if (!advice.empty()) return problem(failed + advice + "\nWhat it wrote is in " + errors);
      std::string said = without_escapes(last_lines(errors, kErrorLines));
      const std::string printed = without_escapes(last_lines(out, kErrorLines));
      if (!said.empty() && !printed.empty()) said += "\n";
      return problem(failed + one_line(argv->back()) + "\n" + said + printed);
    }
    return read_file(runner_ != nullptr && runner_->writes_list ? file : out);
  }

  Result<std::vector<suite::SuiteTest>> parse(const std::string& text,
                                              const std::string& directory) const {
    if (runner_ != nullptr) return runner_->parse(text, directory);
    std::vector<suite::SuiteTest> out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (!line.empty()) out.push_back({line, "", line});
      at = end + 1;
    }
    return out;
  }

  TestConfig make(const suite::SuiteTest& one) const {
    TestConfig test = test_;
    test.suite.reset();
    test.of_suite = true;
    test.file = one.file;
    test.name = test_.name.empty() ? one.name : test_.name + ": " + one.name;
    test.env["FILIBUSTER_TEST"] = one.id;
    if (runner_ != nullptr) {
      test.junit_xml = lane_.log_path("test") + ".xml";
      test.command = shell(runner_->each(suite_, one, test.junit_xml));
    } else {
      test.command = suite_.each;
    }
    return test;
  }

  const Config& config_;
  const SessionLane& lane_;
  const TestConfig& test_;
  SuiteConfig suite_;
  const suite::Runner* runner_;
};

}  // namespace

Result<std::vector<TestConfig>> list_suites(const Config& config, const SessionLane& lane,
                                            const std::vector<TestConfig>& tests,
                                            const std::vector<std::string>& only) {
  std::vector<TestConfig> all;
  for (const TestConfig& test : tests) {
    if (!test.suite) {
      all.push_back(test);
      continue;
    }
    auto listed = Listing(config, lane, test).list();
    if (!listed) return Error{listed.error().message + "\nNo test was run."};
    std::move(listed->begin(), listed->end(), std::back_inserter(all));
  }
  std::set<std::string> names;
  for (const TestConfig& test : all) {
    if (!names.insert(test.name).second) {
      return Error{
          "two tests are named '" + test.name +
          "', and a test is known by its name alone: give each suite a 'name', which is put "
          "before the names of its tests"};
    }
  }
  if (only.empty()) return all;
  std::vector<TestConfig> out;
  for (const std::string& name : only) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const TestConfig& test) { return test.name == name; });
    if (found == all.end()) {
      return Error{"there is no test '" + name + "' (there are " + std::to_string(all.size()) +
                   "; the first is '" + all.front().name + "')"};
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace filibuster
