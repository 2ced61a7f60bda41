#include "daemon/process/session_lane.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(PreloadOf, OurLibraryComesBeforeWhatIsGiven) {
  EXPECT_EQ(preload_of("/ours.so", "", ""), "/ours.so");
  EXPECT_EQ(preload_of("/ours.so", "", "/a.so b.so::c.so"), "/ours.so:/a.so:b.so:c.so");
}

TEST(PreloadOf, RuntimesOfTheAddressSanitizerComeFirst) {
  EXPECT_EQ(preload_of("/ours.so", "libasan.so.8", "/a.so"), "libasan.so.8:/ours.so:/a.so");
  EXPECT_EQ(preload_of("/ours.so", "", "/a.so:/usr/lib/libasan.so.8 /b.so"),
            "/usr/lib/libasan.so.8:/ours.so:/a.so:/b.so");
  EXPECT_EQ(preload_of("/ours.so", "", "/x/libclang_rt.asan-x86_64.so"),
            "/x/libclang_rt.asan-x86_64.so:/ours.so");
  EXPECT_EQ(preload_of("/ours.so", "libasan.so.8", "libasan.so.8"), "libasan.so.8:/ours.so");
  EXPECT_EQ(preload_of("/ours.so", "", "/libasan.so.8/other.so"),
            "/ours.so:/libasan.so.8/other.so");
}

}  // namespace
}  // namespace filibuster
