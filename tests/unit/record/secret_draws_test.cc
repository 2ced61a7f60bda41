#include "daemon/record/secret_draws.h"

#include <gtest/gtest.h>

namespace filibuster::record {
namespace {

using Secrets = std::map<std::string, std::string, std::less<>>;

const std::string kBytes = "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10";

TEST(SecretDrawsTest, AnyUsualFormOfTheBytesMakesASecret) {
  for (const char* secret : {"0123456789abcdeffedcba9876543210", "0123456789ABCDEFFEDCBA9876543210",
                             "01234567-89ab-4def-bedc-ba9876543210", "ASNFZ4mrze/+3LqYdlQyEA==",
                             "ASNFZ4mrze_-3LqYdlQyEA", "session-ASNFZ4mrze_-3LqYdlQyEA.suffix"}) {
    EXPECT_TRUE(makes_a_secret(kBytes, Secrets{{"token", secret}})) << secret;
  }
}

TEST(SecretDrawsTest, OthersDoNot) {
  EXPECT_FALSE(makes_a_secret(kBytes, {}));
  EXPECT_FALSE(makes_a_secret(kBytes, Secrets{{"token", "0123456789abcdeffedcba987654321"}}));
  EXPECT_FALSE(makes_a_secret(kBytes, Secrets{{"0123456789abcdeffedcba9876543210", "another"}}));
  // Few bytes are anywhere.
  EXPECT_FALSE(makes_a_secret("\x01", Secrets{{"token", "hunter-01-0101"}}));
}

}  // namespace
}  // namespace filibuster::record
