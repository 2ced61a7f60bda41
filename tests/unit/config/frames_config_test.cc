#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_frames(const std::string& frames) {
  return parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"index": {"frames": )" + frames +
                          "}}",
                      "f.json", "/d");
}

std::string frames_error(const std::string& frames) {
  const ParsedConfig parsed = parse_frames(frames);
  if (parsed.errors.empty()) return "";
  const ConfigError& error = parsed.errors[0];
  return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
}

TEST(Frames, AreReadAndCompiled) {
  const ParsedConfig parsed =
      parse_frames(R"({"deny": "shop.retry", "allow": ["requests", "com.acme"]})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  const FrameTable table = compile_frames(parsed.config.frames);
  ASSERT_EQ(table.count, 3u);
  EXPECT_EQ(table.rules[0].text(), "requests");
  EXPECT_EQ(table.rules[0].deny, 0);
  EXPECT_EQ(table.rules[2].text(), "shop.retry");
  EXPECT_EQ(table.rules[2].deny, 1);
  EXPECT_EQ(compile_frames({}).count, 0u);
}

TEST(Frames, ErrorsHaveTheirPlaces) {
  EXPECT_EQ(frames_error(R"({"deny": [""]})"), "2:31 'frames': a pattern cannot be empty");
  EXPECT_EQ(frames_error(R"({"deny": ["a", "a"]})"), "2:36 'a' is listed twice");
  EXPECT_EQ(frames_error(R"({"deny": "a", "allow": "a"})"), "2:21 'a' is allowed and denied");
  EXPECT_NE(frames_error(R"({"deny": [1]})"), "");
  EXPECT_NE(frames_error(R"({"dney": []})").find("did you mean 'deny'?"), std::string::npos);
  EXPECT_NE(frames_error(R"({"deny": ")" + std::string(125, 'x') + "\"}").find("at most 124 bytes"),
            std::string::npos);
  std::string many = "{\"deny\": [\"0\"";
  for (int i = 1; i < 65; ++i) many += ", \"" + std::to_string(i) + "\"";
  EXPECT_NE(frames_error(many + "]}").find("at most 64 patterns"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
