
#include "daemon/redact/config_secrets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

Json config(const std::string& password, const std::string& token) {
  return {
      {"services",
       {{{"name", "users"},
         {"command", {"./users", "--token", token, "--port", "${port:users}"}},
         {"env", {{"DB_PASSWORD", password}, {"MODE", "test"}}}},
        {{"name", "secrets"}, {"command", "API_KEY=" + token + " ./secrets --db-pass " + token}}}},
      {"faults", {{{"inject", {{{"status", 503}, {"headers", {{"Set-Cookie", token}}}}}}}}}};
}

TEST(RedactConfig, LeavesOutVariablesOptionsHeadersAndWhatItsTextShows) {
  EXPECT_EQ(Json::parse(redact_config(config("a", "b").dump())), [] {
    Json expected = config("[redacted]", "[redacted]");
    return expected;
  }());
}

TEST(RedactConfig, LeavesATextWithoutSecretsAsItIs) {
  const std::string text = "{ \"services\": [ ],\t\"tests\": [] }";
  EXPECT_EQ(redact_config(text), text);
  EXPECT_EQ(redact_config("no JSON"), "no JSON");
}

TEST(RestoreConfig, TakesWhatIsThereNow) {
  const std::string kept = redact_config(config("a", "b").dump());
  RestoredConfig restored = restore_config(kept, config("new", "other").dump());
  EXPECT_TRUE(restored.missing.empty());
  EXPECT_EQ(Json::parse(restored.text), config("new", "other"));
  // Services are known by name, wherever they stand.
  Json turned = config("new", "other");
  std::swap(turned["services"][0], turned["services"][1]);
  EXPECT_EQ(Json::parse(restore_config(kept, turned.dump()).text), config("new", "other"));
}

TEST(RestoreConfig, NamesWhatIsNotThere) {
  const std::string kept = redact_config(config("a", "b").dump());
  const std::vector<std::string> all = {"variable 'DB_PASSWORD' of service 'users'",
                                        "'command' of service 'secrets'", "'Set-Cookie'"};
  const auto missing = restore_config(kept, "").missing;
  for (const std::string& what : all)
    EXPECT_NE(std::find(missing.begin(), missing.end(), what), missing.end()) << what;
  EXPECT_EQ(missing.size(), all.size() + 1);  // the option of users
  // A command that is another one now is not taken: its secret could be another place's.
  Json changed = config("a", "b");
  changed["services"][1]["command"] = "API_KEY=b ./secrets --db-pass b --verbose";
  EXPECT_EQ(restore_config(kept, changed.dump()).missing,
            std::vector<std::string>{"'command' of service 'secrets'"});
}

TEST(RestoreConfig, TakesAVariableFromTheEnvironmentLast) {
  Json now = config("a", "b");
  now["services"][0]["env"].erase("DB_PASSWORD");
  setenv("DB_PASSWORD", "of the environment", 1);
  const RestoredConfig restored =
      restore_config(redact_config(config("a", "b").dump()), now.dump());
  unsetenv("DB_PASSWORD");
  EXPECT_TRUE(restored.missing.empty());
  EXPECT_EQ(Json::parse(restored.text), config("of the environment", "b"));
}

TEST(ConfigSecrets, CommentsAreNotKept) {
  const std::string kept = redact_config("{\"a\": 1} // the password is hunter2\n");
  EXPECT_EQ(kept.find("hunter2"), std::string::npos);
  EXPECT_EQ(kept.substr(0, 8), "{\"a\": 1}");
}

}  // namespace
}  // namespace filibuster
