#include "cli/analysis/tokens.h"

#include <gtest/gtest.h>

#include "cli/analysis/source.h"

namespace filibuster::analysis {
namespace {

std::string shown(std::string_view text, Language language) {
  std::string out;
  for (const Token& token : tokenize(text, language)) {
    out += out.empty() ? "" : " ";
    out += token.string() ? "'" + std::string(token.text) + "'" : std::string(token.text);
  }
  return out;
}

TEST(Tokens, CommentsAreNoCode) {
  EXPECT_EQ(shown("a # abort(404)\nb", Language::kPython), "a b");
  EXPECT_EQ(shown("a // x\nb /* return 404;\n */ c", Language::kGo), "a b c");
  EXPECT_EQ(shown("#!/usr/bin/env node\na", Language::kJavaScript), "a");
}

TEST(Tokens, StringsAreOneToken) {
  EXPECT_EQ(shown("x = 'abort(404)' \"it's\"", Language::kPython), "x = 'abort(404)' 'it's'");
  EXPECT_EQ(shown("\"\"\"a\n'b' \"c\" \\\"\"\"\" d", Language::kPython), "'a\n'b' \"c\" \\\"' d");
  EXPECT_EQ(shown("rb'x' f\"{y}\" u", Language::kPython), "'x' '{y}' u");
  EXPECT_EQ(shown("R\"(a\"b)\" R\"x(c)\" d)x\" u8\"e\" 'f'", Language::kCpp),
            "'a\"b' 'c)\" d' 'e' 'f'");
  EXPECT_EQ(shown("`a\n\\` \"b\"", Language::kGo), "'a\n\\' 'b'");
  EXPECT_EQ(shown("\"\"\"\n a \"b\" \"\"\" c", Language::kJava), "'\n a \"b\" ' c");
  EXPECT_EQ(shown("`a ${f(`b ${c}`, '}')} d` e", Language::kJavaScript),
            "'a ${f(`b ${c}`, '}')} d' e");
}

TEST(Tokens, WhatDoesNotEndEndsWithItsLine) {
  EXPECT_EQ(shown("'a\nb", Language::kPython), "'a' b");
  EXPECT_EQ(shown("don't\nstop", Language::kJavaScript), "don 't' stop");
  EXPECT_EQ(shown("R\"(a", Language::kCpp), "'a'");
  EXPECT_EQ(shown("`a ${", Language::kJavaScript), "'a ${'");
}

TEST(Tokens, RegularExpressionsAreNoComments) {
  EXPECT_EQ(shown("a = /x\\/'[/]/g; b / c / d", Language::kJavaScript),
            "a = '/x\\/'[/]/' g ; b / c / d");
  EXPECT_EQ(shown("return /[\"]/", Language::kJavaScript), "return '/[\"]/'");
}

TEST(Tokens, NumbersAndOperators) {
  EXPECT_EQ(shown("1'000 0x1F4 4.5 x==404", Language::kCpp), "1'000 0x1F4 4.5 x == 404");
  EXPECT_EQ(shown("a===b ?. c => d", Language::kJavaScript), "a === b ?. c => d");
}

TEST(Tokens, PlacesCountFromTheFile) {
  const auto tokens = tokenize(
      "\xEF\xBB\xBF"
      "a\n  'x\\\n  y' b\n\tc",
      Language::kPython);
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_TRUE(tokens[0].first_in_line);
  EXPECT_EQ(tokens[0].column, 0u);
  EXPECT_EQ(tokens[1].line, 2u);
  EXPECT_EQ(tokens[1].column, 2u);
  EXPECT_FALSE(tokens[2].first_in_line);
  EXPECT_EQ(tokens[2].line, 3u);
  EXPECT_TRUE(tokens[3].first_in_line);
  EXPECT_EQ(tokens[3].line, 4u);
}

TEST(Tokens, BracketsHavePartners) {
  const auto tokens = tokenize("( [ a ) ] { }", Language::kJava);
  const auto partner = match_brackets(tokens);
  EXPECT_EQ(partner[0], 3u);
  EXPECT_EQ(partner[1], tokens.size());
  EXPECT_EQ(partner[4], tokens.size());
  EXPECT_EQ(partner[5], 6u);
}

std::string definitions(std::string path, std::string text) {
  const auto source = read_source(std::move(path), std::move(text));
  std::string out;
  for (const Definition& one : source->definitions) {
    out += (out.empty() ? "" : ", ") + std::string(one.is_class ? "class " : "") +
           std::string(one.name) + " " + std::to_string(source->token(one.begin).line) + "-" +
           std::to_string(source->token(one.end - 1).line) + (one.outermost ? "" : " inner");
  }
  return out;
}

TEST(Definitions, OfPythonEndWithTheirIndentation) {
  EXPECT_EQ(definitions("a.py",
                        "@x\n@y('z')\ndef f(a,\n  b):\n  return (1,\n2)\n\n  # c\n\nclass C(D):\n"
                        "  async def g(self): pass\n\n  x = 1\ny = 2\n"),
            "f 1-6, class C 10-13, g 11-11 inner");
}

TEST(Definitions, OfLanguagesWithBraces) {
  EXPECT_EQ(
      definitions("a.js",
                  "function f(a) {\n if (x) { g(1); }\n}\nconst h = async (a) => {\n};\n"
                  "export class K extends L {\n constructor(s) {\n }\n}\nconst i = a => 3;\n"),
      "f 1-3, h 4-5, class K 6-9, constructor 7-8 inner, i 10-10");
  EXPECT_EQ(
      definitions("A.java",
                  "final class A implements B {\n @Get(\"/x\")\n int f(int a) throws E {\n }\n"
                  " record R(int status) {}\n}\n"),
      "class A 1-6, f 2-4 inner, class R 5-5 inner");
  EXPECT_EQ(
      definitions("a.go", "func (s *S) Get(a int) (int, error) {\n}\nfunc g() {\n for {\n }\n}\n"),
      "Get 1-2, g 3-6");
  EXPECT_EQ(definitions("a.cc",
                        "namespace n {\nint f(int a) const {\n}\nK::K(int a) : b_(a), c_{a} {\n}\n"
                        "struct S {\n int status = 1;\n};\n}\n"),
            "f 2-3, K 4-5, class S 6-8");
}

}  // namespace
}  // namespace filibuster::analysis
