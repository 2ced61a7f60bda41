#include "cli/daemon_client.h"

#include <gtest/gtest.h>

namespace filibuster::cli {
namespace {

TEST(QueryArgument, EscapesWhatIsNotUnreserved) {
  EXPECT_EQ(query_argument("path", "/a b&c=ü~-_."), "&path=%2Fa%20b%26c%3D%C3%BC~-_.");
  EXPECT_EQ(query_argument("path", ""), "");
}

}  // namespace
}  // namespace filibuster::cli
