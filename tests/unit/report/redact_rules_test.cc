// What is a secret by rules, and the patterns of these.
#include <gtest/gtest.h>

#include "daemon/redact/pattern.h"
#include "daemon/redact/rules.h"

namespace filibuster {
namespace {

Pattern pattern(const std::string& text) {
  auto compiled = Pattern::compile(text);
  if (const auto* wrong = std::get_if<Pattern::Wrong>(&compiled)) {
    ADD_FAILURE() << text << ": " << wrong->message;
    return {};
  }
  return std::get<Pattern>(std::move(compiled));
}

std::string wrong(const std::string& text) {
  const auto compiled = Pattern::compile(text);
  const auto* found = std::get_if<Pattern::Wrong>(&compiled);
  return found == nullptr ? "" : std::to_string(found->at) + " " + found->message;
}

TEST(Pattern, MatchesWhatItSays) {
  struct Row {
    const char *pattern, *text;
    bool fits;
  };
  for (const Row& row : {Row{"ACC-[0-9]{8}", "ACC-12345678", true},
                         {"ACC-[0-9]{8}", "ACC-1234567", false},
                         {"ACC-[0-9]{8}", "acc-12345678", false},
                         {"(a|bc)+d?", "abcbcad", true},
                         {"(a|bc)+d?", "abcbcdd", false},
                         {"a{2,3}", "aaa", true},
                         {"a{2,3}", "aaaa", false},
                         {"a{2,}", "aaaaaa", true},
                         {"[^a-c\\]]x", "dx", true},
                         {"[^a-c\\]]x", "]x", false},
                         {"[]a]+", "]a]", true},
                         {"[a-]+", "a-", true},
                         {"\\d\\w\\s\\.", "1_ .", true},
                         {"\\D\\W\\S", "a-b", true},
                         {"a.c", "a\nc", false},
                         {"a\\nc", "a\nc", true},
                         {"^ab$", "ab", true},
                         {"\\bab\\b", "ab", true},
                         {"(?:ä|ö)x", "öx", true},
                         {"(a*)*b", "aaaab", true},
                         {"(((x{2}){2}){2})", "xxxxxxxx", true}})
    EXPECT_EQ(pattern(row.pattern).fits(row.text), row.fits) << row.pattern << " " << row.text;
}

TEST(Pattern, FindsAllEndsOfAMatch) {
  EXPECT_EQ(pattern("ab+").ends("xabbbc", 1), (std::vector<size_t>{3, 4, 5}));
  EXPECT_TRUE(pattern("ab+").ends("xabbbc", 0).empty());
  EXPECT_TRUE(pattern("\\bab").ends("xab", 1).empty());
  EXPECT_TRUE(pattern("ab$").ends("abc", 0).empty());
  EXPECT_TRUE(pattern("^b").ends("ab", 1).empty());
}

TEST(Pattern, TakesLinearTimeWhateverItIs) {
  const std::string text(3000, 'a');
  EXPECT_TRUE(pattern("(a|a)*(a|aa)*(a*)*b").ends(text, 0).empty());
  EXPECT_EQ(pattern("(a|aa)+").ends(text, 0).back(), text.size());
}

TEST(Pattern, SaysWhatIsWrong) {
  EXPECT_EQ(wrong("a)"), "1 ')' without '('");
  EXPECT_EQ(wrong("(a"), "0 '(' without ')'");
  EXPECT_EQ(wrong("a**"), "2 one repetition behind another: the longest match counts in any case");
  EXPECT_EQ(wrong("+a"), "0 '+' repeats nothing; the letter itself is \\+");
  EXPECT_EQ(wrong("(?=a)"), "0 groups that look around are not known");
  EXPECT_EQ(wrong("a\\1"), "1 '\\1' is not known");
  EXPECT_EQ(wrong("[z-a]"), "1 expected a range such as a-z");
  EXPECT_EQ(wrong("a{3,2}").substr(0, 2), "1 ");
  EXPECT_EQ(wrong("a{5000}"), "2 more than 1000 times");
  EXPECT_EQ(wrong("((a{1000}){1000}){1000}"), "0 the pattern is too large: it repeats too much");
  EXPECT_EQ(wrong(std::string(5000, '(')).substr(2), " groups stand too deep in each other");
  EXPECT_EQ(wrong(""), "0 the pattern is empty");
  EXPECT_EQ(wrong("a?"), "0 the pattern matches the empty text");
  EXPECT_EQ(wrong("a\\"), "1 a '\\' at the end");
}

std::shared_ptr<const SecretRules> of_type(const std::string& type) {
  RedactRule rule;
  rule.type = type;
  return SecretRules::compile({rule});
}

TEST(SecretRules, KnowTypesByTheirForm) {
  struct Row {
    const char *type, *text, *shown;
  };
  for (const Row& row : {
           Row{"email", "to ann.b+x@mail.example.com.", "to *."},
           {"email", "a@b and @c.de", "a@b and @c.de"},
           {"phone", "call +49 30 901820, now", "call *, now"},
           {"phone", "1+1 is +2", "1+1 is +2"},
           {"iban", "to DE89 3704 0044 0532 0130 00 AND on", "to * AND on"},
           {"iban", "to DE89370400440532013001", "to DE89370400440532013001"},
           {"ipv4", "from 192.168.7.12: refused", "from 192.168.7.12: refused"},
           {"ipv4", "from 192.168.7.12 to 10.0.0.1", "from * to *"},
           {"ipv4", "version 1.2.3.4.5, 1.2.3.400", "version 1.2.3.4.5, 1.2.3.400"},
           {"ipv6", "at 2001:db8::7 12:30:45 ::1", "at * 12:30:45 ::1"},
           {"uuid", "id f47ac10b-58cc-4372-a567-0e02b2c3d479.", "id *."},
       }) {
    EXPECT_EQ(of_type(row.type)->replaced(row.text, SecretPlace::kBody,
                                          [](std::string_view) { return std::string("*"); }),
              row.shown);
  }
}

TEST(SecretRules, HoldWhereTheySay) {
  RedactRule name, kept, form;
  name.name = "National_*";
  name.in = {SecretPlace::kBody, SecretPlace::kRedis};
  kept.name = "page_token";
  kept.keep = true;
  form.pattern = "ACC-\\d+";
  form.in = {SecretPlace::kQuery};
  const auto rules = SecretRules::compile({name, kept, form});
  EXPECT_EQ(rules->named("national_id", SecretPlace::kBody), true);
  EXPECT_EQ(rules->named("National-Id", SecretPlace::kAnywhere), true);
  EXPECT_EQ(rules->named("national_id", SecretPlace::kQuery), std::nullopt);
  EXPECT_EQ(rules->named("Page_Token", SecretPlace::kQuery), false);
  EXPECT_EQ(rules->named("token", SecretPlace::kQuery), std::nullopt);
  const auto star = [](std::string_view) { return std::string("*"); };
  EXPECT_EQ(rules->replaced("of ACC-12 it", SecretPlace::kQuery, star), "of * it");
  EXPECT_EQ(rules->replaced("of ACC-12 it", SecretPlace::kBody, star), "of ACC-12 it");
}

TEST(SecretRules, InForceHoldForReports) {
  RedactRule name, kept, form;
  name.name = "national_id";
  kept.name = "page_token";
  kept.keep = true;
  form.pattern = "ACC-\\d+";
  const std::string text =
      R"({"national_id": "planted-1", "page_token": "next-7", "of": "ACC-12"})";
  const std::string before = redact(text);
  {
    const RulesInForce in_force(SecretRules::compile({name, kept, form}));
    EXPECT_EQ(redact(text),
              R"({"national_id": "[redacted]", "page_token": "next-7", "of": "[redacted]"})");
    const RulesInForce of_another_session(SecretRules::compile({form}));
    EXPECT_EQ(redact(text),
              R"({"national_id": "[redacted]", "page_token": "[redacted]", "of": "[redacted]"})")
        << "what one keeps may be a secret of the other";
  }
  EXPECT_EQ(redact(text), before);
}

}  // namespace
}  // namespace filibuster
