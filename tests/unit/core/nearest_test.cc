#include "core/text/nearest.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

constexpr std::string_view kVerbs[] = {"run",    "replay", "trace",  "was-fault-injected",
                                       "doctor", "daemon", "version"};

TEST(Nearest, IsWhatAMistypedWordMeans) {
  EXPECT_EQ(nearest("rnu", kVerbs), "run");
  EXPECT_EQ(nearest("runs", kVerbs), "run");
  EXPECT_EQ(nearest("reply", kVerbs), "replay");
  EXPECT_EQ(nearest("deamon", kVerbs), "daemon");
  EXPECT_EQ(nearest("trac", kVerbs), "trace");
  EXPECT_EQ(nearest("fault-injected", kVerbs), "was-fault-injected");
}

TEST(Nearest, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(nearest("foo", kVerbs), "");
  EXPECT_EQ(nearest("", kVerbs), "");
  EXPECT_EQ(nearest(std::string(1000, 'r'), kVerbs), "");
}

}  // namespace
}  // namespace filibuster
