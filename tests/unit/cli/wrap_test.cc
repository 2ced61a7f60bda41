#include "cli/wrap.h"

#include <gtest/gtest.h>

#include <sstream>

namespace filibuster::cli {
namespace {

TEST(Wrapped, LinesBreakAtBlanksAndHang) {
  EXPECT_EQ(wrapped("  one two three four\nshort\n", 12),
            "  one two\n    three\n    four\nshort\n");
  EXPECT_EQ(wrapped("one two", 7), "one two");
  EXPECT_EQ(wrapped("one two three", 0), "one two three");
  EXPECT_EQ(wrapped("", 10), "");
  EXPECT_EQ(wrapped("\n\n", 10), "\n\n");
}

TEST(Wrapped, WhatStandsInAColumnStaysThere) {
  EXPECT_EQ(wrapped("  fault         no answer of it", 26), "  fault         no answer\n    of it")
      << "the column leaves less than half of the line";
  EXPECT_EQ(wrapped("  fault         no answer of it, for ten seconds", 36),
            "  fault         no answer of it, for\n                ten seconds");
  EXPECT_EQ(wrapped("  users -> books  GET /books and so on", 20),
            "  users -> books\n    GET /books and\n    so on");
}

TEST(Wrapped, TheTestsOwnLinesKeepTheirBar) {
  EXPECT_EQ(wrapped("   | assert one\tin two", 20), "   | assert one in\n   |   two");
  EXPECT_EQ(wrapped("   |   for all of them", 20), "   |   for all of\n   |     them");
  EXPECT_EQ(wrapped("   |                              ", 20), "   |");
}

TEST(Wrapped, RulesEndWhereTheLineDoes) {
  EXPECT_EQ(wrapped("   | ==== summary ================", 24), "   | ==== summary ======");
  EXPECT_EQ(wrapped("==============================", 24), "========================");
}

TEST(Wrapped, WhatIsCopiedStaysWhole) {
  for (const char* line :
       {"     run it again: filibuster replay 'my shop/1.json'",
        "  to go on: filibuster run -c a.json", "\"nondeterminism\": [{\"header\": \"date\"}]",
        "\"hooks\": {\"before_execution\": \"redis-cli -p ${port:cache} flushall\"}"})
    EXPECT_EQ(wrapped(line, 20), line);
}

TEST(Wrapped, NoWordIsCut) {
  const std::string words = "  a longer-word-than-the-line ä b ääää-ööö (und) ß c d ee fff gggg";
  for (size_t columns = 1; columns < 40; ++columns) {
    std::istringstream in(wrapped(words, columns)), was(words);
    for (std::string word, expected; was >> expected;) {
      ASSERT_TRUE(in >> word);
      EXPECT_EQ(word, expected) << columns;
    }
    in.clear();
    in.seekg(0);
    for (std::string line; std::getline(in, line);) {
      const bool one_word = line.find(' ', line.find_first_not_of(' ')) == line.npos;
      EXPECT_TRUE(columns_of(line) <= columns || one_word) << columns << ": " << line;
    }
  }
}

TEST(FirstWords, AreThoseThatFit) {
  EXPECT_EQ(first_words("one two three", 13), "one two three");
  EXPECT_EQ(first_words("one two three", 12), "one two");
  EXPECT_EQ(first_words("one two three", 7), "one two");
  EXPECT_EQ(first_words("ää öö", 2), "ää") << "a character is one column";
  EXPECT_EQ(first_words("one two", 2), "");
}

}  // namespace
}  // namespace filibuster::cli
