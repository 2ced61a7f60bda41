#include "daemon/property/edn.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

// As JSON, one a line; the error with what is left.
std::string all_of(std::string_view text) {
  std::string out;
  while (true) {
    auto value = read_edn(&text);
    if (!value)
      return out + "expected " + value.error().message + " at '" + std::string(text) + "'";
    if (!value.value()) return out;
    out += (*value.value()).dump() + "\n";
  }
}

TEST(Edn, IsReadAsJson) {
  EXPECT_EQ(all_of("{:process 0, :type :invoke, :f :cas, :value [1 2]} ; a comment\nnil true"),
            R"({"f":"cas","process":0,"type":"invoke","value":[1,2]})"
            "\nnull\ntrue\n");
  EXPECT_EQ(all_of(R"(("a\"b\n\u00e4" -7 1.5 12N 1/4 sym #{3} {[1] 2, 3 4}))"),
            R"(["a\"b\nä",-7,1.5,12,0.25,"sym",[3],{"3":4,"[1]":2}])"
            "\n");
  EXPECT_EQ(all_of("#inst \"2020\" #jepsen.history.Op{:index 1 #_:time #_5} [1 #_ 2]"),
            "\"2020\"\n{\"index\":1}\n[1]\n");
  EXPECT_EQ(all_of("\"\\ud83d\\ude00\" ##NaN 1"), "\"\U0001F600\"\n\"##NaN\"\n1\n");
  EXPECT_EQ(all_of(" ,;nothing\n"), "");
}

TEST(Edn, SaysWhatWasExpected) {
  EXPECT_EQ(all_of("[1 2"), "expected ']' at the end of a collection at ''");
  EXPECT_EQ(all_of("1 }"), "1\nexpected a value, and not '}' at '}'");
  EXPECT_EQ(all_of("{:a}"), "expected a value for each key of a map at ''");
  EXPECT_EQ(all_of("\"a"), "expected '\"' at the end of a text at ''");
  EXPECT_EQ(all_of("\"\\u12"), "expected four digits behind \\u at '12'");
  EXPECT_EQ(all_of("\"\\ud83d\""),
            "expected both halves of a character that is written as two \\u at '\"'");
  EXPECT_EQ(all_of("#tag"), "expected a value behind a tag at ''");
  EXPECT_EQ(all_of(std::string(100, '[')).substr(0, 41),
            "expected collections that are 64 deep at ");
}

}  // namespace
}  // namespace filibuster::property
