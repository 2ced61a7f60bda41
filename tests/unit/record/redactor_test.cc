// Secrets become tokens of their own kind before anything is written, and the same secret the same token.
#include "daemon/record/redactor.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "core/text/uri.h"
#include "daemon/cases/case_file.h"
#include "tests/unit/record/records.h"

namespace filibuster::record {
namespace {

constexpr const char kBearer[] = "planted0123456789bearer";
constexpr const char kPassword[] = "planted-Password-7";

cases::Call redis_call(const char* command, const char* reply) {
  cases::Call out;
  out.input.kind = cases::Kind::kRedis;
  out.input.to = "cache";
  out.input.command = nlohmann::json::parse(command);
  out.reply = nlohmann::json::parse(reply);
  return out;
}

std::string written(const cases::Case& of) {
  const cases::WrittenFile file = cases::write_case(of, "x");
  std::string out = file.text;
  for (const auto& [name, bytes] : file.beside) out += bytes;
  return out;
}

TEST(Redactor, ATokenHasTheLengthAndTheLettersOfItsSecret) {
  Redactor redactor("key");
  const std::string token = redactor.token("aZ3-x.Y/9=");
  EXPECT_EQ(token.size(), 10u);
  EXPECT_NE(token, "aZ3-x.Y/9=");
  for (const size_t at : {3, 5, 7, 9}) EXPECT_EQ(token[at], "aZ3-x.Y/9="[at]);
  EXPECT_TRUE(std::isdigit(token[2]) && std::isdigit(token[8]));
  EXPECT_TRUE(std::isupper(token[1]) && std::islower(token[0]));
  EXPECT_EQ(redactor.token("0a1b2c3d4e").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(redactor.token("a%2Fb").substr(1, 3), "%2F")
      << "what is escaped stays a letter of a query";
  EXPECT_NE(redactor.token("7")[0], '0');
}

TEST(Redactor, TheSameSecretHasTheSameTokenAndAnotherKeyAnother) {
  Redactor one("key"), two("another");
  EXPECT_EQ(one.token(kBearer), one.token(kBearer));
  EXPECT_EQ(one.token(one.token(kBearer)), one.token(kBearer));
  EXPECT_NE(one.token(kBearer), two.token(kBearer));
  EXPECT_NE(one.token(kBearer), one.token(kPassword));
}

TEST(Redactor, SecretsAreInNothingThatIsWritten) {
  cases::Case value;
  value.service = "orders";
  value.request.method = "POST";
  value.request.target = std::string("/login?key=") + kPassword + "&page=2";
  value.request.headers = {{"Authorization", std::string("Bearer ") + kBearer},
                           {"Content-Type", "application/json"},
                           {"Cookie", "lang=en; sid=planted-cookie-5"},
                           {"X-Api-Key", "planted-api-key-1"}};
  value.request.body = std::string(R"({"user": "ann", "password": ")") + kPassword +
                       R"(", "pin": 739184, "deep": [{"clientSecret": "planted-deep-secret-2"}]})";
  value.answer.status = 200;
  value.answer.headers = {{"Set-Cookie", "sid=planted-sid-6; Path=/; HttpOnly"}};
  value.answer.body = std::string("your token=") + kBearer + " is good";
  cases::Call http;
  http.input.to = "pricing";
  http.input.http.method = "POST";
  http.input.http.target = std::string("/by/") + kBearer;
  http.input.http.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  http.input.http.body = "client_secret=planted-form-3&size=7";
  http.answer.status = 200;
  value.calls = {
      http, redis_call(R"(["HSET", "session:ann", "access_token", "planted-field-4"])", "1"),
      redis_call(R"(["GET", "auth_token:7"])", R"("planted-reply-8")"),
      redis_call(R"(["HGETALL", "user:7"])", R"(["name", "ann", "password", "planted-hash-9"])"),
      redis_call(R"(["SET", "cart", "{\"token\":\"planted-json-0\"}"])", R"({"status": "OK"})")};
  value.partial = std::string("its call to pricing (GET /x?token=") + kBearer + "): cut";
  Redactor redactor("key");
  redactor.redact(&value);
  const std::string text = written(value);
  EXPECT_EQ(text.find("planted"), std::string::npos) << text;
  EXPECT_EQ(text.find("739184"), std::string::npos);
  EXPECT_EQ(value.request.headers[0].second, "Bearer " + redactor.token(kBearer));
  EXPECT_EQ(value.calls[0].input.http.target, "/by/" + redactor.token(kBearer))
      << "what is a secret in one place is one in all";
  EXPECT_EQ(value.request.target.substr(value.request.target.find('&')), "&page=2");
  EXPECT_EQ(value.answer.headers[0].second,
            "sid=" + redactor.token("planted-sid-6") + "; Path=/; HttpOnly");
  EXPECT_EQ(value.calls[1].input.command[2], "access_token") << "names stay";
  EXPECT_NE(value.request.body.find(R"("user": "ann", "password": ")"), std::string::npos)
      << "JSON keeps its style";
}

TEST(Redactor, WhatIsNoSecretStaysAsItIs) {
  cases::Case value;
  value.request.method = "POST";
  value.request.target = "/orders/7?page=2";
  value.request.headers = {{"Content-Type", "application/json"}};
  value.request.body = "{\"item\":7,\n\"note\": \"\\u00e9\"}";
  value.answer.status = 201;
  value.answer.body = std::string("\xff\x00\x01", 3);
  value.calls = {redis_call(R"(["SET", "price:7", "950"])", R"({"status": "OK"})")};
  const cases::Case before = value;
  Redactor("key").redact(&value);
  EXPECT_EQ(value, before);
}

TEST(Redactor, CredentialsOfConnectionsAreTokens) {
  Redactor redactor("key");
  cases::Opening auth{nlohmann::json::parse(R"(["AUTH", "planted-secret-1"])"), "OK"};
  cases::Opening hello{
      nlohmann::json::parse(
          R"(["HELLO", "3", "AUTH", "default", "planted-secret-1", "SETNAME", "orders"])"),
      nlohmann::json::object()};
  redactor.redact(&auth);
  redactor.redact(&hello);
  EXPECT_EQ(auth.command[1], redactor.token("planted-secret-1"));
  EXPECT_EQ(hello.command[4], auth.command[1]);
  EXPECT_EQ(hello.command[6], "orders");
}

TEST(Redactor, KeepsNumbersNumbers) {
  Redactor redactor("key");
  for (const char* const secret : {"4711", "4111111111111111", "00000000"}) {
    const std::string token = redactor.token(secret);
    EXPECT_EQ(token.find_first_not_of("0123456789"), std::string::npos) << token;
    EXPECT_EQ(token.size(), std::string(secret).size());
    EXPECT_NE(token, secret);
  }
}

TEST(Redactor, ThatMasksMakesAllSecretsEqual) {
  const auto masked = [](const std::string& token, const std::string& body) {
    Redactor redactor = Redactor::masking();
    cases::Request out;
    out.method = "POST";
    out.target = "/login?api_key=" + token;
    out.headers = {{"Authorization", "Bearer " + token}};
    out.body = body;
    redactor.redact(&out);
    return out;
  };
  EXPECT_EQ(masked("abcdefgh-1", R"({"password": "secret-one", "pin": 4711, "at": "abcdefgh-1"})"),
            masked("zyxwvuts-2", R"({"password": "other-one!", "pin": 12, "at": "zyxwvuts-2"})"));
  EXPECT_FALSE(masked("abcdefgh-1", R"({"name": "Ada"})") ==
               masked("abcdefgh-1", R"({"name": "Eve"})"));
}

// A case with a secret in every kind of place, and short ones among them.
cases::Case full_of_secrets() {
  cases::Case value;
  value.service = "orders";
  value.request.method = "POST";
  value.request.target = std::string("/login?key=") + kPassword + "&page=2";
  value.request.headers = {{"Authorization", std::string("Bearer ") + kBearer},
                           {"Content-Type", "application/json"},
                           {"Cookie", "lang=en; sid=c7"}};
  value.request.body = std::string(R"({"user": "ann", "password": ")") + kPassword +
                       R"(", "pin": 7391, "size": 12, "none": {"pin": -5}})";
  value.answer.status = 200;
  value.answer.headers = {{"Set-Cookie", "sid=planted-sid-6; Path=/; HttpOnly"}};
  value.answer.body = std::string("your token=") + kBearer + " is good";
  cases::Call http;
  http.input.to = "pricing";
  http.input.http.method = "POST";
  http.input.http.target = std::string("/by/") + kBearer;
  http.input.http.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  http.input.http.body = "client_secret=planted%2Fform-3&size=7";
  http.answer.status = 200;
  http.answer.headers = {{"Content-Type", "application/json"}};
  http.answer.body = R"({"access_token":"planted-answer-1","n":[1,2]})";
  value.calls = {http,
                 redis_call(R"(["HSET", "session:ann", "access_token", "planted-field-4"])", "1"),
                 redis_call(R"(["GET", "auth_token:7"])", R"("planted-reply-8")"),
                 redis_call(R"(["HGETALL", "user:7"])", R"(["name", "ann", "password", "pw"])")};
  return value;
}

TEST(Redactor, PutsSecretsBackWhereTheirTokensStand) {
  const cases::Case before = full_of_secrets();
  for (const char* const key : {"a", "b", "c", "d"}) {
    Redactor redactor(key);
    cases::Case value = before;
    redactor.redact(&value);
    const cases::Case written = value;
    ASSERT_FALSE(value == before);
    redactor.restore(&value);
    EXPECT_EQ(value, before) << key;
    redactor.redact(&value);
    EXPECT_EQ(value, written) << "and out again, the same";
  }
}

TEST(Redactor, KnowsTheSecretOfEachToken) {
  Redactor redactor("key");
  const std::string token = redactor.token(kBearer);
  const std::string number = redactor.token("7391");
  EXPECT_EQ(redactor.secrets().at(token), kBearer);
  EXPECT_EQ(redactor.secrets().at(number), "7391");
  EXPECT_EQ(redactor.secrets().size(), 2u);
  EXPECT_TRUE(Redactor::masking().secrets().empty());
}

TEST(Redactor, ShortSecretsHaveTokensOfTheirOwn) {
  Redactor redactor("key");
  std::set<std::string> tokens;
  for (int pin = 10; pin < 30; ++pin) tokens.insert(redactor.token(std::to_string(pin)));
  EXPECT_EQ(tokens.size(), 20u);
}

TEST(Redactor, SaysWhereTokensStand) {
  Redactor redactor("key");
  cases::Case value = full_of_secrets();
  redactor.redact(&value);
  std::vector<std::string> places;
  for (const auto& [token, place] : redactor.places(value)) {
    EXPECT_TRUE(redactor.secrets().contains(token));
    places.push_back(redactor.secrets().find(token)->second + " in " + place);
  }
  const std::vector<std::string> expected = {
      "planted-Password-7 in /query/key of the request",
      "planted-Password-7 in /json/password of the request",
      "7391 in /json/pin of the request",
      "-5 in /json/none/pin of the request",
      "planted0123456789bearer in the header authorization of the request",
      "planted0123456789bearer in the path of call 0",
      "planted/form-3 in /form/client_secret of call 0",
      "planted-answer-1 in /json/access_token of the answer to call 0",
      "planted-field-4 in /call/3 of call 1",
      "planted-reply-8 in /reply of the answer to call 2",
      "pw in /reply/3 of the answer to call 3",
      "planted0123456789bearer in /text of the answer",
      "planted-sid-6 in the header set-cookie of the answer"};
  EXPECT_EQ(places, expected);
}

TEST(Redactor, KnowsASecretWithItsEscapes) {
  Redactor redactor("key");
  const std::string token = redactor.token("plänted/one=7"), known = redactor.token("pla nted+8");
  cases::Request request;
  request.target = "/x?api_key=pl%C3%A4nted%2fone%3D7&token=pla+nted%2B8&note=pla%20nted%2B8";
  const cases::Request before = request;
  redactor.redact(&request);
  EXPECT_EQ(percent_decoded(request.target, true),
            "/x?api_key=" + token + "&token=" + known + "&note=" + known);
  EXPECT_NE(request.target.find("%2f"), std::string::npos) << "as it was written";
  cases::Case all;
  all.request = request;
  redactor.restore(&all);
  EXPECT_EQ(all.request, before);
}

TEST(Redactor, TheLongerOfTwoSecretsIsTakenOutFirst) {
  Redactor redactor("key");
  redactor.token("planted-1");
  redactor.token("planted-1-and-more-2");
  cases::Request request;
  request.target = "/of/planted-1-and-more-2";
  redactor.redact(&request);
  EXPECT_EQ(request.target, "/of/" + redactor.token("planted-1-and-more-2"));
}

// --- rules of the configuration ---------------------------------------------------------------------

Redactor::Rules rules_for_tests() {
  const auto named = [](const char* name, bool keep = false) {
    RedactRule rule;
    rule.name = name;
    rule.keep = keep;
    return rule;
  };
  const auto typed = [](const char* type) {
    RedactRule rule;
    rule.type = type;
    return rule;
  };
  RedactRule account;
  account.pattern = "ACC-[0-9]{8}";
  account.in = {SecretPlace::kBody, SecretPlace::kRedis};
  return SecretRules::compile({named("national_*"), typed("email"), typed("phone"), account,
                               named("page_token", true), named("lang", true)});
}

cases::Case ruled_case() {
  cases::Case value;
  value.request.method = "POST";
  value.request.target =
      "/of/ann@planted.example?page_token=next-7&national_id=planted-1&to=bob%40planted.example";
  value.request.headers = {{"X-National-Id", "planted-2"},
                           {"national_id", "planted-3"},
                           {"Cookie", "lang=en; sid=planted-4"},
                           {"X-Account", "ACC-00000000"}};
  value.request.body =
      R"({"national_id": {"number": "planted-5", "of": 12}, "page_token": "4111111111111111", "tel": "+49 30 901820", "a": "ACC-12345678", "by": {"ann@planted.example": 1}})";
  value.answer.status = 200;
  value.answer.body = "sent to ann@planted.example for ACC-12345678";
  value.calls = {
      redis_call(R"(["SET", "national_id:7", "planted-6"])", R"({"status": "OK"})"),
      redis_call(R"(["HSET", "u", "page_token", "4111111111111111", "of", "ACC-12345678"])", "2")};
  return value;
}

TEST(Redactor, FollowsRulesOfTheConfiguration) {
  Redactor redactor("key", rules_for_tests());
  const cases::Case before = ruled_case();
  cases::Case value = before;
  redactor.redact(&value);
  const std::string text = written(value);
  for (const char* const secret : {"planted-1", "planted-3", "planted-4", "planted-5", "planted-6",
                                   "ann@", "bob%40", "901820", "ACC-12345678"})
    EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in " << text;
  EXPECT_NE(text.find("page_token=next-7"), std::string::npos);
  EXPECT_EQ(value.request.headers[0].second, "planted-2") << "the rule is of another name";
  EXPECT_EQ(value.request.headers[2].second.substr(0, 7), "lang=en");
  EXPECT_EQ(value.request.headers[3].second, "ACC-00000000") << "not in a header";
  EXPECT_NE(text.find("4111111111111111"), std::string::npos) << "what is kept has any form";
  EXPECT_EQ(value.calls[1].input.command[3], "4111111111111111");
  const std::string account = redactor.token("ACC-12345678");
  EXPECT_EQ(account.substr(0, 4), "ACC-") << "a token of a rule has its form";
  EXPECT_NE(value.request.body.find(account), std::string::npos);
  EXPECT_EQ(value.calls[1].input.command[5], account) << "and is the same everywhere";
  redactor.restore(&value);
  EXPECT_EQ(value, before);
}

TEST(Redactor, MasksByTheSameRules) {
  Redactor redactor("key", rules_for_tests());
  cases::Case value = ruled_case();
  redactor.redact(&value);
  const auto masked = [](cases::Case of) {
    Redactor::masking(rules_for_tests()).redact(&of);
    return of;
  };
  EXPECT_EQ(masked(value), masked(ruled_case()));
}

std::string gzip_of(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Redactor, RefusesCompressedBodiesWithSecrets) {
  const auto redacted = [](const std::string& text) {
    cases::Case value;
    value.request.target = "/?token=planted-known-1";
    value.answer.status = 200;
    value.answer.headers = {{"Content-Encoding", "gzip"}, {"Content-Type", "application/json"}};
    value.answer.body = gzip_of(text);
    Redactor redactor("key");
    redactor.redact(&value);
    EXPECT_EQ(redactor.refusal(), value.partial);
    return value;
  };
  for (const char* const text : {R"({"password": "planted-9"})", R"({"at": "planted-known-1"})",
                                 R"({"card": "4111111111111111"})"}) {
    const cases::Case value = redacted(text);
    EXPECT_EQ(value.partial, "the body of an answer is compressed, and there is a secret in it");
    EXPECT_EQ(value.answer.body, "");
  }
  const cases::Case good = redacted(R"({"name": "ann"})");
  EXPECT_EQ(good.partial, "");
  EXPECT_EQ(good.answer.body, gzip_of(R"({"name": "ann"})"));
}

TEST(Redactor, BytesOfGzipAreLookedIntoWithoutTheFieldThatNamesThem) {
  cases::Case value;
  value.answer.body = gzip_of(R"({"password": "planted-Pass-9"})");
  Redactor("key").redact(&value);
  EXPECT_EQ(value.answer.body, "");
  EXPECT_FALSE(value.partial.empty());
}

TEST(Redactor, PutsTokensIntoBinaryBodies) {
  Redactor redactor("key");
  cases::Case value;
  value.request.target = "/?token=planted-known-1";
  value.request.body = std::string("\x0a\x0fplanted-known-1\xff", 18);
  redactor.redact(&value);
  EXPECT_EQ(value.request.body,
            std::string("\x0a\x0f", 2) + redactor.token("planted-known-1") + "\xff");
}

}  // namespace
}  // namespace filibuster::record
