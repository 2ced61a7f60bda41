
#include "daemon/redact/redact.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

struct Row {
  const char* text;
  const char* redacted;
};

// Arguments have no names: what is no secret by its form stays.
TEST(Redact, OfRedisLooksAtFormsAndLeavesPatternsOfKeys) {
  const Row rows[] = {
      {R"(["session:42","eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"])",
       R"(["session:42","[redacted]"])"},
      {R"(["card:7","4111 1111 1111 1111","EX","60"])", R"(["card:7","[redacted]","EX","60"])"},
      {R"(["user:42","Bearer 0123456789abcdefghij"])", R"(["user:42","Bearer [redacted]"])"},
      {R"(["k","{\"token\":\"abc\"}"])", R"(["k","{\"token\":\"[redacted]\"}"])"},
      {R"(["user:42","password","hunter2"])", R"(["user:42","password","hunter2"])"},
      {"users -> cache GET token:*: refused", "users -> cache GET token:*: refused"},
      {"password-reset:*:mail", "password-reset:*:mail"},
      {"token:abc", "token:[redacted]"},
      {"token:*abc", "token:[redacted]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(redact(row.text), row.redacted);
    EXPECT_EQ(redact(row.redacted), row.redacted);
  }
}

TEST(Redact, ReplacesValuesOfCredentials) {
  const Row rows[] = {
      {"Authorization: Bearer abc.def\r\nHost: x", "Authorization: [redacted]\r\nHost: x"},
      {"authorization:Basic dXNlcjpwYXNz", "authorization:[redacted]"},
      {"Proxy-Authorization: Basic x y", "Proxy-Authorization: [redacted]"},
      {"Cookie: a=1; b=2\nNext: 3", "Cookie: [redacted]\nNext: 3"},
      {"Set-Cookie: id=7; HttpOnly", "Set-Cookie: [redacted]"},
      {"X-Api-Key: 123", "X-Api-Key: [redacted]"},
      {"curl -H 'Authorization: Bearer abc' http://h/",
       "curl -H 'Authorization: [redacted]' http://h/"},
      {"{'Authorization': 'Bearer abc', 'Accept': '*/*'}",
       "{'Authorization': '[redacted]', 'Accept': '*/*'}"},
      {"GET /x?token=abc&y=1 HTTP/1.1", "GET /x?token=[redacted]&y=1 HTTP/1.1"},
      {"/x?a=1&api_key=abc#f", "/x?a=1&api_key=[redacted]#f"},
      {"/x?apiKey=abc&client_secret=d", "/x?apiKey=[redacted]&client_secret=[redacted]"},
      {"{\"password\": \"p\\\"q\", \"user\": \"u\"}",
       "{\"password\": \"[redacted]\", \"user\": \"u\"}"},
      {"{\"access_token\":\"abc\",\"n\":1}", "{\"access_token\":\"[redacted]\",\"n\":1}"},
      {"\"{\\\"token\\\": \\\"abc\\\", \\\"n\\\": 1}\"",
       "\"{\\\"token\\\": \\\"[redacted]\\\", \\\"n\\\": 1}\""},
      {"{\"secret\": 12345, \"n\": 1}", "{\"secret\": [redacted], \"n\": 1}"},
      {"{\"token\": {\"password\": \"x\"}}", "{\"token\": {\"password\": \"[redacted]\"}}"},
      {"postgres://app:pa:ss@db:5432/x", "postgres://app:[redacted]@db:5432/x"},
      {"token=", "token="},
      {"/x?key=abc&code=1&sig=2;session=3#f",
       "/x?key=[redacted]&code=[redacted]&sig=[redacted];session=[redacted]#f"},
      {"/x?auth=abc&X-Amz-Signature=1", "/x?auth=[redacted]&X-Amz-Signature=[redacted]"},
      {"code=abc&grant=1", "code=[redacted]&grant=1"},
      {"{\"session\": \"abc\", 'pin': 1234, \"code\": 404}",
       "{\"session\": \"[redacted]\", 'pin': [redacted], \"code\": 404}"},
      {"PHPSESSID=abc; x", "PHPSESSID=[redacted]; x"},
      {"./users --token abc --port 1", "./users --token [redacted] --port 1"},
      {"./users --db-password 'a b' -v", "./users --db-password '[redacted]' -v"},
      {"token=\"unclosed", "token=\"[redacted]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(redact(row.text), row.redacted) << row.text;
    EXPECT_EQ(redact(row.redacted), row.redacted) << "not twice the same";
  }
}

TEST(Redact, LeavesEverythingElseAsItIs) {
  for (const char* text : {"",
                           "plain text",
                           "AssertionError: 500 != 200",
                           "GET /users/chris_rivers?page=2",
                           "Unexpected token < in JSON at position 0",
                           "the password is wrong",
                           "Host: users:5000",
                           "http://users:5000/a@b",
                           "auth: caller has no timeout",
                           "session 3: over",
                           "exit code=1",
                           "a key: b",
                           "--token=$TOKEN",
                           "--token $TOKEN",
                           "--token --verbose",
                           "--token",
                           "a -> token GET /auth/token: timeout",
                           "{b -> c POST /reset-password: status:503; x}",
                           "a -> token: 2 ended at once",
                           "--key file",
                           "password=${PASSWORD}",
                           "{\"user\": \"x\"}",
                           "\"\\\\\"",
                           "a: 'b'"}) {
    EXPECT_EQ(redact(text), text);
  }
  const std::string bytes("\x00\xff token\x00", 9);
  EXPECT_EQ(redact(bytes), bytes);
}

TEST(Redact, AWordOfASentenceIsNoValue) {
  const std::string prose =
      "accepts a credential: it makes no remote call; secret: the name of a thing";
  EXPECT_EQ(redact(prose), prose);
  // Whatever could be a value is taken for one.
  for (const char* text : {"password: it", "password: the1 is", "token: letmein please",
                           "password=it is", "\"password\": \"it is\"", "secret:the name"})
    EXPECT_NE(redact(text), text);
}

TEST(RedactObject, StaysJsonWhateverTheValueIs) {
  EXPECT_EQ(
      redact_object(R"({"code":"x","session_token":5,"nested":[{"password":"p","n":1}]})"),
      R"({"code":"x","session_token":"[redacted]","nested":[{"password":"[redacted]","n":1}]})");
  EXPECT_EQ(redact_object(R"({"url":"http://a/?token=t"})"),
            R"({"url":"http://a/?token=[redacted]"})");
  EXPECT_EQ(redact_object(""), "null");
  EXPECT_EQ(redact_object("[1]"), "null");
}

TEST(Redact, NamesOfCardsAndAccountsInAnyText) {
  EXPECT_EQ(
      redact("credit_card_number: 4000, \"iban\": \"DE02 1203\" ssn=078-05 className: Box"),
      "credit_card_number: [redacted], \"iban\": \"[redacted]\" ssn=[redacted] className: Box");
}

}  // namespace
}  // namespace filibuster
