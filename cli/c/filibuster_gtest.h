// Explores tests of GoogleTest, and shows every execution as a test of its own. One file, to copy.
//
//   int main(int argc, char** argv) {
//     testing::InitGoogleTest(&argc, argv);
//     return filibuster::run_all_tests(argc, argv);
//   }
//
//   ./shop_test                                  # the plain tests
//   ./shop_test --filibuster=filibuster.json     # each test under faults
//
// The configuration has these tests as a suite: "tests": [{"runner": "gtest", "path": "shop_test"}].
// Each test becomes `filibuster run --test Suite.Test`. An execution is shown as the test
// "Suite.Test.users -> movies GET /movies/1: timeout", and what was found as the test "Suite.Test.findings".
#ifndef FILIBUSTER_GTEST_H
#define FILIBUSTER_GTEST_H

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace filibuster {
namespace gtest_detail {

// What became of one execution, or of the exploration of a test.
class Told : public testing::Test {
 public:
  Told(bool passed, std::string text) : passed_(passed), text_(std::move(text)) {}
  void TestBody() override {
    if (!passed_) GTEST_NONFATAL_FAILURE_(text_.c_str());
  }

 private:
  const bool passed_;
  const std::string text_;
};

// The JSON string that begins at `*at`, behind which `*at` stands then. Escapes of characters beyond
// ASCII become '?'.
inline std::string string_at(const std::string& line, std::size_t* at) {
  std::string out;
  for (++*at; *at < line.size() && line[*at] != '"'; ++*at) {
    if (line[*at] != '\\') {
      out += line[*at];
      continue;
    }
    const char escaped = line[++*at];
    if (escaped == 'u') *at += 4;
    out += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'u' ? '?' : escaped;
  }
  ++*at;
  return out;
}

// The value of a member that is a string; "" if there is none.
inline std::string member(const std::string& line, const char* name) {
  const std::size_t found = line.find("\"" + std::string(name) + "\":\"");
  if (found == std::string::npos) return "";
  std::size_t at = line.find(":\"", found) + 1;
  return string_at(line, &at);
}

inline std::string faults_of(const std::string& line) {
  std::size_t at = line.find("\"faults\":[");
  if (at == std::string::npos) return "";
  std::string out;
  for (at = line.find('[', at) + 1; at < line.size() && line[at] == '"';) {
    out += (out.empty() ? "" : " + ") + string_at(line, &at);
    if (at < line.size() && line[at] == ',') ++at;
  }
  return out;
}

inline std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

inline void tell(const std::string& test, const std::string& name, bool passed,
                 const std::string& text) {
  testing::RegisterTest(test.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [=]() -> testing::Test* { return new Told(passed, text); });
}

inline void explore(const std::string& test, const std::string& configuration) {
  const std::string command =
      "filibuster run --json -c " + quoted(configuration) + " --test " + quoted(test) + " 2>&1";
  std::FILE* const run = ::popen(command.c_str(), "r");
  std::string line, findings, said;
  char buffer[4096];
  while (run != nullptr && std::fgets(buffer, sizeof buffer, run) != nullptr) {
    line += buffer;
    if (line.empty() || line.back() != '\n') continue;
    const std::string type = member(line, "type");
    if (type == "execution" && !faults_of(line).empty()) {
      const bool passed = line.find("\"passed\":true") != std::string::npos;
      tell(test, faults_of(line), passed, member(line, "verdict"));
    } else if (type == "finding") {
      findings += member(line, "text");
    } else if (type == "error" || type.empty()) {
      said += type.empty() ? line : member(line, "text") + "\n";
    }
    line.clear();
  }
  const int status = run == nullptr ? -1 : ::pclose(run);
  tell(test, "findings", status == 0, findings.empty() ? said : findings);
}

}  // namespace gtest_detail

// RUN_ALL_TESTS(), or with --filibuster[=CONFIG] each test under faults. Executions of Filibuster itself run
// the plain tests.
inline int run_all_tests(int argc, char** argv) {
  std::string configuration;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--filibuster") configuration = "filibuster.json";
    if (argument.rfind("--filibuster=", 0) == 0) configuration = argument.substr(13);
  }
  if (configuration.empty() || std::getenv("FILIBUSTER_URL") != nullptr) return RUN_ALL_TESTS();
  std::vector<std::string> tests;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  // Which tests the filter leaves is known only when they run, so all of them are explored unless it
  // names one.
  const std::string filter = testing::GTEST_FLAG(filter);
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
      const bool wanted =
          filter == "*" || filter == name || filter == std::string(suite.name()) + ".*";
      if (wanted && name.find("DISABLED_") == std::string::npos) tests.push_back(name);
    }
  }
  std::string explored;
  for (const std::string& test : tests) {
    gtest_detail::explore(test, configuration);
    explored += (explored.empty() ? "" : ":") + test + ".*";
  }
  testing::GTEST_FLAG(filter) = explored;
  return RUN_ALL_TESTS();
}

}  // namespace filibuster

#endif
