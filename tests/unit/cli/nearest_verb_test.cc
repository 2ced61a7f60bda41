#include "cli/nearest_verb.h"

#include <gtest/gtest.h>

namespace filibuster::cli {
namespace {

constexpr std::string_view kVerbs[] = {"run",    "replay", "trace",  "was-fault-injected",
                                       "doctor", "daemon", "version"};

TEST(NearestVerb, IsWhatAMistypedWordMeans) {
  EXPECT_EQ(nearest_verb("rnu", kVerbs), "run");
  EXPECT_EQ(nearest_verb("runs", kVerbs), "run");
  EXPECT_EQ(nearest_verb("reply", kVerbs), "replay");
  EXPECT_EQ(nearest_verb("deamon", kVerbs), "daemon");
  EXPECT_EQ(nearest_verb("trac", kVerbs), "trace");
  EXPECT_EQ(nearest_verb("fault-injected", kVerbs), "was-fault-injected");
}

TEST(NearestVerb, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(nearest_verb("foo", kVerbs), "");
  EXPECT_EQ(nearest_verb("", kVerbs), "");
  EXPECT_EQ(nearest_verb(std::string(1000, 'r'), kVerbs), "");
}

}  // namespace
}  // namespace filibuster::cli
