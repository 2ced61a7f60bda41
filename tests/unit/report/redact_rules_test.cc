// What is a secret by rules, and the patterns of these.
#include <gtest/gtest.h>

#include "daemon/redact/expression.h"
#include "daemon/redact/rules.h"

namespace filibuster {
namespace {

Expression expression(const std::string& text) {
  return std::get<Expression>(Expression::compile(text));
}

// The ends of all matches that begin at `at`, the furthest first.
std::vector<size_t> ends(const std::string& of, const std::string& text, size_t at) {
  const Expression compiled = expression(of);
  std::vector<size_t> out;
  for (size_t limit = text.size(); const auto found = compiled.end(text, at, limit);
       limit = out.back() - 1)
    out.push_back(*found);
  return out;
}

std::string wrong(const std::string& text) {
  const auto compiled = Expression::compile(text);
  const auto* found = std::get_if<Expression::Wrong>(&compiled);
  return found == nullptr ? "" : std::to_string(found->at) + " " + found->message;
}

TEST(Expression, MatchesWhatItSays) {
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
                         {"[äö]x", "öx", true},
                         {"(?i)acc", "ACC", true},
                         {"(a*)*b", "aaaab", true},
                         {"(((x{2}){2}){2})", "xxxxxxxx", true}})
    EXPECT_EQ(expression(row.pattern).fits(row.text), row.fits) << row.pattern << " " << row.text;
}

TEST(Expression, FindsAllEndsOfAMatch) {
  EXPECT_EQ(ends("ab+", "xabbbc", 1), (std::vector<size_t>{5, 4, 3}));
  EXPECT_TRUE(ends("ab+", "xabbbc", 0).empty());
  EXPECT_TRUE(ends("\\bab", "xab", 1).empty());
  EXPECT_TRUE(ends("ab$", "abc", 0).empty());
  EXPECT_TRUE(ends("^b", "ab", 1).empty());
  EXPECT_TRUE(ends("ab\\b", "abc", 0).empty()) << "also where the rest is not looked at";
}

TEST(Expression, FindsWhereAMatchMayBegin) {
  EXPECT_EQ(expression("ab").next("xxab", 0), 2u);
  EXPECT_EQ(expression("ab").next("xxab", 3), 4u);
  // Nothing far away is looked at before its turn.
  const std::string text = std::string(3 * Expression::kMostMatch, 'x') + "ab";
  EXPECT_EQ(expression("ab").next(text, 0), Expression::kMostMatch);
  size_t at = 0;
  while (at < text.size() && !expression("ab").end(text, at, text.size())) {
    const size_t next = expression("ab").next(text, at);
    at = next > at ? next : at + 1;
  }
  EXPECT_EQ(at, text.size() - 2);
}

TEST(Expression, TakesLinearTimeWhateverItIs) {
  const std::string text(3000, 'a');
  EXPECT_TRUE(ends("(a|a)*(a|aa)*(a*)*b", text, 0).empty());
  EXPECT_EQ(expression("(a|aa)+").end(text, 0, text.size()), text.size());
  const std::string longer(2 * Expression::kMostMatch, 'a');
  EXPECT_EQ(expression("a+").end(longer, 0, longer.size()), Expression::kMostMatch);
}

TEST(Expression, SaysWhatIsWrong) {
  EXPECT_EQ(wrong("a)"), "1 ')' without '('");
  EXPECT_EQ(wrong("(b)(a"), "3 '(' without ')'");
  EXPECT_EQ(wrong("[a][a"), "3 '[' without ']'");
  EXPECT_EQ(wrong("a**"), "1 one repetition behind another: the longest match counts in any case");
  EXPECT_EQ(wrong("+a"), "0 '+' repeats nothing; the letter itself is \\+");
  EXPECT_EQ(wrong("b(?=a)"), "1 groups that look around are not known");
  EXPECT_EQ(wrong("a\\1"), "1 '\\1' is not known");
  EXPECT_EQ(wrong("[z-a]"), "1 expected a range such as a-z");
  EXPECT_EQ(wrong("a{3,2}").substr(0, 2), "1 ");
  EXPECT_EQ(wrong("a{5000}").substr(0, 2), "1 ");
  EXPECT_EQ(wrong("((a{100}){100}){1000}"), "0 the pattern is too large: it repeats too much");
  EXPECT_NE(wrong(std::string(5000, '(')), "");
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

TEST(SecretRules, OfSeveralFormsTheFirstThatBeginsCounts) {
  RedactRule letters, digits;
  letters.pattern = "b+";
  digits.pattern = "[0-9]{2}|bbc";
  const auto rules = SecretRules::compile({letters, digits});
  const auto shown = [](std::string_view match) { return "<" + std::string(match) + ">"; };
  EXPECT_EQ(rules->replaced("a12bbc3 45b", SecretPlace::kBody, shown), "a<12><bb>c3 <45><b>");
  const std::string far(3 * Expression::kMostMatch, 'x');
  EXPECT_EQ(rules->replaced(far + "12" + far + "b", SecretPlace::kBody, shown),
            far + "<12>" + far + "<b>");
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
