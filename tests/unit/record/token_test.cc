// A token has the form of its secret, and can be told from one.
#include "daemon/record/token.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/text/base64.h"
#include "daemon/redact/checksums.h"
#include "daemon/redact/redact.h"

namespace filibuster::record {
namespace {

// Of several keys: what holds for one may hold by chance.
template <typename Check>
void with_tokens(const std::string& secret, Check check) {
  for (int key = 0; key < 50; ++key) {
    const std::string token = token_of(secret, std::to_string(key), 0);
    EXPECT_NE(token, secret);
    check(token);
  }
}

std::string digits_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += c;
  }
  return out;
}

std::string base64url(const std::string& text) {
  std::string out = to_base64(text);
  out.erase(std::min(out.find('='), out.size()));
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::optional<std::string> decoded(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  return from_base64(text);
}

TEST(Token, OfACardIsACardOfTheSameIssuer) {
  for (const std::string secret :
       {"4111111111111111", "5500 0000 0000 0004", "3782-822463-10005"}) {
    with_tokens(secret, [&](const std::string& token) {
      EXPECT_EQ(luhn_remainder(digits_of(token)), 0) << token;
      EXPECT_EQ(token.substr(0, 4), secret.substr(0, 4));
      EXPECT_EQ(token.size(), secret.size());
      EXPECT_TRUE(is_token(token)) << token;
      EXPECT_EQ(redact_forms(token), kRedacted) << "it is one for whoever looks for them";
    });
    EXPECT_TRUE(lacks_mark(secret)) << secret;
  }
}

TEST(Token, OfAnIbanHasARightSum) {
  for (const std::string secret : {"DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"}) {
    with_tokens(secret, [&](const std::string& token) {
      EXPECT_EQ(iban_remainder(digits_of(token)), 1) << token;
      EXPECT_EQ(token.substr(0, 2), secret.substr(0, 2));
      EXPECT_TRUE(is_token(token)) << token;
    });
    EXPECT_TRUE(lacks_mark(secret));
  }
}

TEST(Token, OfBase64CanBeDecoded) {
  with_tokens(to_base64("ann:planted-secret-1"), [&](const std::string& token) {
    const auto text = decoded(token);
    ASSERT_TRUE(text) << token;
    EXPECT_EQ(text->size(), 20u);
    EXPECT_EQ(text->find(':'), 3u) << *text;
    EXPECT_EQ(to_base64(*text), token);
    EXPECT_TRUE(is_token(token)) << token;
  });
  with_tokens(to_base64("{\"user\": \"planted-ann\"}"), [&](const std::string& token) {
    const std::string text = decoded(token).value_or("");
    EXPECT_EQ(text.substr(0, 10), "{\"user\": \"") << "JSON has its names";
    EXPECT_EQ(text.find("planted"), text.npos);
  });
  for (const std::string secret :
       {"q83vEjRWeJCrze8SNFZ4kA==", "q83vEjRWeJCrze8SNFZ4kAo=", "q83vEjRWeJCrze8SNFZ4kA"}) {
    with_tokens(secret, [&](const std::string& token) {
      EXPECT_TRUE(decoded(token)) << token << ": no bits that are left over";
      EXPECT_EQ(token.size(), secret.size());
      EXPECT_TRUE(is_token(token)) << token;
    });
  }
}

TEST(Token, OfAWebTokenIsOne) {
  const std::string header = R"({"alg":"HS256","typ":"JWT"})";
  const std::string claims =
      R"({"sub":"planted-ann","exp":1893456000,"iss":"https://id.example","roles":["planted-admin"],"n":7712345})";
  const std::string secret =
      base64url(header) + "." + base64url(claims) + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
  with_tokens(secret, [&](const std::string& token) {
    EXPECT_EQ(token.size(), secret.size());
    const size_t dot = token.find('.'), last = token.rfind('.');
    EXPECT_EQ(decoded(token.substr(0, dot)), header);
    const auto json =
        nlohmann::json::parse(decoded(token.substr(dot + 1, last - dot - 1)).value_or(""));
    EXPECT_EQ(json["exp"], 1893456000) << "it is as valid as it was";
    EXPECT_EQ(json["iss"], "https://id.example");
    EXPECT_NE(json["sub"], "planted-ann");
    EXPECT_NE(json["roles"][0], "planted-admin");
    EXPECT_NE(json["n"], 7712345);
    EXPECT_TRUE(decoded(token.substr(last + 1))) << token;
    EXPECT_TRUE(is_token(token)) << token;
  });
  EXPECT_TRUE(lacks_mark(secret));
  const std::string without_signature = base64url(header) + "." + base64url(claims) + ".";
  with_tokens(without_signature, [&](const std::string& token) {
    EXPECT_EQ(token.size(), without_signature.size());
    const size_t dot = token.find('.');
    EXPECT_TRUE(nlohmann::json::accept(
        decoded(token.substr(dot + 1, token.size() - dot - 2)).value_or("")));
    EXPECT_FALSE(lacks_mark(token));
  });
}

// Sessions of Flask, among others: what they say comes first, and there is no header.
TEST(Token, OfATokenWithoutAHeaderHasOtherValues) {
  const std::string secret =
      base64url(R"({"user":"planted-ann"})") + ".aXbYcZ.d3f4g5h6i7j8k9l0mnopq";
  with_tokens(secret, [&](const std::string& token) {
    const std::string said = decoded(token.substr(0, token.find('.'))).value_or("");
    EXPECT_EQ(said.substr(0, 9), "{\"user\":\"");
    EXPECT_EQ(said.find("planted"), said.npos);
    EXPECT_EQ(token.size(), secret.size());
  });
}

TEST(Token, KeepsWhatSaysOfWhatKindItIs) {
  with_tokens("f47ac10b-58cc-4372-a567-0e02b2c3d479", [](const std::string& token) {
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef-"), token.npos) << token;
    EXPECT_EQ(token[14], '4');
    EXPECT_EQ(token[19], 'a');
    EXPECT_TRUE(is_token(token)) << token;
  });
  with_tokens("DEADBEEF00112233", [](const std::string& token) {
    EXPECT_EQ(token.find_first_not_of("0123456789ABCDEF"), token.npos) << token;
  });
  with_tokens("192.168.7.12", [](const std::string& token) {
    int a = 0, b = 0, c = 0, d = 0;
    ASSERT_EQ(sscanf(token.c_str(), "%3d.%3d.%1d.%2d", &a, &b, &c, &d), 4);
    EXPECT_LE(a, 255);
    EXPECT_LE(b, 255);
    EXPECT_EQ(token.size(), 12u);
  });
  with_tokens("ghp_Pl4ntedPl4ntedPl4nted", [](const std::string& token) {
    EXPECT_EQ(token.substr(0, 4), "ghp_");
    EXPECT_TRUE(is_token(token)) << token;
  });
  with_tokens("ann.smith@mail.example.com", [](const std::string& token) {
    EXPECT_EQ(token[3], '.');
    EXPECT_EQ(token[9], '@');
    EXPECT_EQ(token.substr(14, 1), ".");
    EXPECT_TRUE(is_token(token)) << token;
  });
  const std::string pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----";
  with_tokens(pem, [&](const std::string& token) {
    EXPECT_EQ(token.substr(0, 28), pem.substr(0, 28));
    EXPECT_EQ(token.substr(42), pem.substr(42));
    EXPECT_EQ(token.find("MIIEvQ"), token.npos);
    EXPECT_TRUE(is_token(token)) << token;
  });
  EXPECT_TRUE(lacks_mark(pem));
}

TEST(Token, CanBeToldFromOtherTexts) {
  for (const char* const text : {"planted-Password-7", "correct horse battery staple", "12345678",
                                 "AKIAIOSFODNN7EXAMPLE", "f47ac10b-58cc-4372-a567-0e02b2c3d479"}) {
    EXPECT_FALSE(is_token(text)) << text;
    EXPECT_TRUE(lacks_mark(text)) << text;
    with_tokens(text, [&](const std::string& token) {
      EXPECT_TRUE(is_token(token)) << token << " of " << text;
      EXPECT_FALSE(lacks_mark(token)) << token;
    });
  }
  for (const char* const text : {"4711", "secret", "10.0.0.1", ""}) {
    EXPECT_FALSE(is_token(text)) << text;
    EXPECT_FALSE(lacks_mark(text)) << "nothing can be said of " << text;
  }
}

}  // namespace
}  // namespace filibuster::record
