#include "cli/stray_ports.h"

#include <gtest/gtest.h>

namespace filibuster::cli {
namespace {

std::vector<std::string> strays(const std::string& text) {
  const ParsedConfig parsed = parse_config(text, "f", "/d");
  for (const ConfigError& error : parsed.errors) ADD_FAILURE() << error.message;
  return stray_ports("f", text, parsed.config);
}

std::string shop(const std::string& env, const std::string& command = "./catalog ${port:catalog}",
                 const std::string& test_env = "{}") {
  return R"({"version": 1, "services": [
{"name": "redis", "command": "exec redis-server --port ${port:redis}"},
{"name": "catalog", "command": ")" +
         command + R"(",
 "env": )" +
         env + R"(}],
"tests": [{"name": "t", "command": "true", "env": )" +
         test_env + "}]}";
}

TEST(StrayPorts, AreThoseOfServicesThatGotAnother) {
  EXPECT_EQ(strays(shop(R"({"REDIS_PORT": "6379"})")),
            std::vector<std::string>{
                "f:4:24: warning: REDIS_PORT is \"6379\", and no service has that port: 'redis' "
                "gets a free one; write \"${port:redis}\""});
  EXPECT_EQ(strays(shop(R"({"A": "redis://localhost:6379/0"})")),
            std::vector<std::string>{
                "f:4:15: warning: A is \"redis://localhost:6379/0\", and no service has that port: "
                "'redis' gets a free one; write \"redis://localhost:${port:redis}/0\""});
  EXPECT_EQ(strays(shop("{}", "REDIS_PORT=6379 ./catalog -r localhost:6379")),
            (std::vector<std::string>{
                "f:3:44: warning: REDIS_PORT is \"6379\", and no service has that port: 'redis' "
                "gets a free one; write \"${port:redis}\"",
                "f:3:62: warning: the command asks localhost:6379, and no service has that port: "
                "'redis' gets a free one; write \"localhost:${port:redis}\""}));
  EXPECT_EQ(strays(shop("{}", "./catalog", R"({"CATALOG_URL": "http://localhost:8080"})")).size(),
            1u);
  EXPECT_EQ(strays(shop("{}", "./catalog", R"({"BASE_URL": "http://localhost:8080"})")).size(), 1u);
}

TEST(StrayPorts, AreNotThoseAtWhichSomebodyMayBe) {
  for (const char* const env : {R"({"REDIS_PORT": "${port:redis}"})", R"({"REDIS_PORT": "6380x"})",
                                R"({"PORT": "6379"})", R"({"TIMEOUT": "6379"})",
                                R"({"A": "redis.example.com:6379"})", R"({"CATALOG_PORT": "8080"})",
                                R"({"A": "http://localhost:8080"})", R"({"DB": "localhost:5432"})"})
    EXPECT_TRUE(strays(shop(env)).empty()) << env;
  // Its port is fixed.
  EXPECT_TRUE(strays(R"({"version": 1, "services": [
    {"name": "redis", "command": "redis-server", "ports": {"redis": 6379}},
    {"name": "a", "command": "./a", "env": {"REDIS_PORT": "6379"}}],
    "tests": [{"name": "t", "command": "true"}]})")
                  .empty());
  // Another one has that port.
  EXPECT_TRUE(strays(R"({"version": 1, "services": [
    {"name": "redis", "command": "redis-server --port ${port:redis}"},
    {"name": "old", "ports": {"old": 6379}},
    {"name": "a", "command": "REDIS_PORT=6379 ./a localhost:6379", "env": {"REDIS_URL": "redis://localhost:6379"}}],
    "tests": [{"name": "t", "command": "true"}]})")
                  .empty());
}

}  // namespace
}  // namespace filibuster::cli
