#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

constexpr char kJwt[] = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.bXkgc2lnbmF0dXJlIGlzIHRoaXM";

std::string with(const std::string& text) {
  std::string out = text;
  out.replace(out.find("JWT"), 3, kJwt);
  return out;
}

TEST(RedactForms, KnowsSecretsWhateverStandsBeforeThem) {
  const struct {
    std::string text, redacted;
  } rows[] = {
      {kJwt, "[redacted]"},
      {with("GET /reset/JWT/x"), "GET /reset/[redacted]/x"},
      {with("Bearer%20JWT"), "Bearer%20[redacted]"},
      {with("got JWT.\n"), "got [redacted].\n"},
      {"eyJhbGciOiJIUzI1NiJ9.eyJz", "[redacted]"},  // a body that was cut
      {"sent Bearer 0123abcd now", "sent Bearer [redacted] now"},
      {"BEARER abcdefghijklmnopqrst", "BEARER [redacted]"},
      {"curl -H 'x: Basic YWRhOnNlY3JldA=='", "curl -H 'x: Basic [redacted]'"},
      {"4111111111111111", "[redacted]"},
      {"card 4111 1111 1111 1111, 3 items", "card [redacted], 3 items"},
      {"id-5500-0000-0000-0004", "id-[redacted]"},
      {"3782-822463-10005.", "[redacted]."},
      {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
       "[redacted]\nrest"},
      {"x -----BEGIN PRIVATE KEY-----\nMII", "x [redacted]"},
      {"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
      {"{\"id\": \"sk_live_4eC39HqLyjWD\"}", "{\"id\": \"[redacted]\"}"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(redact_forms(row.text), row.redacted) << row.text;
    EXPECT_EQ(redact(redact(row.text)), redact(row.text)) << row.text;
  }
}

TEST(RedactForms, LeavesWhatOnlyLooksLikeThem) {
  for (const char* text :
       {"4111111111111112",                        // not of Luhn
        "1234567890123452",                        // of Luhn, but of no issuer
        "41111111111111113",                       // 17 digits
        "a4111111111111111", "4111111111111111f",  // within a hash
        "0.4111111111111111", "4111111111111111.5", "at 1700000000000 ms",
        "4111 11 11 1111 1111 11", "the bearer of news", "bearer certificates", "Basic example",
        "Basic access", "eyJ", "eyJhbGci.js",
        "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "AKIA", "sk_live_"}) {
    EXPECT_EQ(redact_forms(text), text);
  }
}

TEST(RedactVariable, KnowsMoreNames) {
  for (const char* name : {"DB_PASSWORD", "STRIPE_KEY", "stripeKey", "BASIC_AUTH", "DB_PASS",
                           "SESSION", "APP_TOKEN", "SALT", "SECRET_KEY_BASE"}) {
    EXPECT_EQ(redact_variable(name, "abc"), "[redacted]") << name;
  }
  for (const char* name :
       {"AUTH_URL", "SESSION_HOST", "KEYCLOAK_REALM", "MONKEY", "PATH", "TOKEN_FILE"}) {
    EXPECT_EQ(redact_variable(name, "abc"), "abc") << name;
  }
  EXPECT_EQ(redact_variable("AUTH_URL", "http://a:b@c/"), "http://a:[redacted]@c/");
  EXPECT_EQ(redact_variable("TOKEN", "${port:users}"), "${port:users}");
  EXPECT_EQ(redact_variable("TOKEN", "$HOME_TOKEN"), "$HOME_TOKEN");
  EXPECT_EQ(redact_variable("PASSWORD", "$ecret"), "[redacted]");
  EXPECT_EQ(redact_variable("PASSWORD", ""), "");
}

TEST(RedactTexts, ReachesEveryTextOfADocument) {
  nlohmann::json json = {
      {"password", "a word"}, {"list", {{{"text", "token=abc"}}}}, {"number", 4111111111111111}};
  redact_texts(&json);
  EXPECT_EQ(
      json.dump(),
      R"({"list":[{"text":"token=[redacted]"}],"number":4111111111111111,"password":"a word"})");
}

}  // namespace
}  // namespace filibuster
