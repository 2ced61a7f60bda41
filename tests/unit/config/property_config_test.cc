// `property` of a test: its programs, and its weights.
#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_row(const std::string& row) {
  return parse_config(R"({"version": 1, "tests": [)" + row + "]}", "f.json", "/app");
}
std::string error_in(const std::string& property) {
  const ParsedConfig parsed = parse_row(R"({"name": "t", "property": )" + property + "}");
  return parsed.errors.empty() ? "" : parsed.errors.front().message;
}

TEST(PropertyConfig, IsReadWithItsDefaults) {
  const ParsedConfig parsed = parse_row(
      R"({"name": "t", "property": {"model": "python3 model.py", "client": ["python3", "client.py"]}})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors.front().message;
  const TestConfig& test = parsed.config.tests.front();
  EXPECT_EQ(test.kind(), TestKind::kProperty);
  EXPECT_FALSE(test.property->model.empty());
  EXPECT_FALSE(test.property->client.empty());
  // As the paper weighs them: a fault to nine requests.
  EXPECT_EQ(test.property->fault_weight, 1u);
  EXPECT_EQ(test.property->request_weight, 9u);
  EXPECT_EQ(test.property->length, 20u);
}

TEST(PropertyConfig, SaysWhatIsWrong) {
  EXPECT_NE(error_in(R"({"model": "m"})").find("client"), std::string::npos);
  EXPECT_NE(error_in(R"({"model": "m", "client": "c", "length": 0})").find("'length'"),
            std::string::npos);
  EXPECT_NE(
      error_in(R"({"model": "m", "client": "c", "request_weight": 0})").find("'request_weight'"),
      std::string::npos);
  EXPECT_EQ(error_in(R"({"model": "m", "client": "c", "fault_weight": 0, "length": 3})"), "");
  EXPECT_NE(error_in(R"({"model": "m", "client": "c", "lenght": 3})").find("length"),
            std::string::npos);
  const ParsedConfig both =
      parse_row(R"({"name": "t", "command": "true", "property": {"model": "m", "client": "c"}})");
  ASSERT_FALSE(both.errors.empty());
  EXPECT_EQ(both.errors.front().message,
            "a test with 'property' has no 'command' and no 'principled'");
}

}  // namespace
}  // namespace filibuster
