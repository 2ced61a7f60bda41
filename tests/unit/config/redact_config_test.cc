// `redact` of the configuration: rules for what is a secret.
#include <gtest/gtest.h>

#include "daemon/config/config.h"
#include "daemon/config/redact.h"

namespace filibuster {
namespace {

std::string text_with(const std::string& rules) {
  return R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"redact": )" +
         rules + "}";
}

ParsedConfig parse_redact(const std::string& rules) {
  return parse_config(text_with(rules), "f.json", "/d");
}

std::string redact_error(const std::string& rules) {
  const ParsedConfig parsed = parse_redact(rules);
  if (parsed.errors.empty()) return "";
  const ConfigError& error = parsed.errors[0];
  return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
}

TEST(RedactConfig, IsReadAndWrittenTheSame) {
  const std::string text =
      R"([{"name":"national_id"},{"type":"email","in":["body","redis"]},{"pattern":"ACC-[0-9]{8}","in":["header"]},{"name":"page_token","keep":true}])";
  const ParsedConfig parsed = parse_redact(text);
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_EQ(to_config_text(parsed.config.redact), text);
  EXPECT_EQ(parse_redact(R"([{"name": "x1", "in": "body"}])").config.redact[0].in,
            std::vector{SecretPlace::kBody});
}

TEST(RedactConfig, SaysWhereItIsWrong) {
  EXPECT_EQ(redact_error(R"([{"in": "body"}])"),
            "2:12 a rule of 'redact' needs one of 'name', 'type' and 'pattern'");
  EXPECT_EQ(redact_error(R"([{"name": "a", "type": "email"}])"),
            "2:12 a rule of 'redact' needs one of 'name', 'type' and 'pattern'");
  EXPECT_NE(redact_error(R"([{"type": "emial"}])").find("2:21 'type'"), std::string::npos)
      << redact_error(R"([{"type": "emial"}])");
  EXPECT_EQ(redact_error(R"([{"pattern": "ACC-[0-9"}])"), "2:29 'pattern': '[' without ']'");
  EXPECT_EQ(redact_error(R"([{"pattern": "a*"}])").substr(5),
            "'pattern': the pattern matches the empty text");
  EXPECT_EQ(redact_error(R"([{"type": "email", "keep": true}])"), "2:12 'keep' goes with 'name'");
  EXPECT_NE(redact_error(R"([{"name": "*"}])"), "");
  EXPECT_NE(redact_error(R"([{"name": "a", "in": []}])"), "");
  EXPECT_NE(redact_error(R"([{"name": "a", "on": "x"}])"), "");
  EXPECT_NE(redact_error(R"({"name": "a"})"), "");
}

}  // namespace
}  // namespace filibuster
