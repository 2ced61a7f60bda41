#include "preload/stack/frame_filter.h"

#include <gtest/gtest.h>

namespace filibuster::preload {
namespace {

TEST(FrameFilter, EnginesRunCodeThatTheyMake) {
  for (const char* path : {"/usr/bin/node", "/usr/lib/jvm/x/lib/server/libjvm.so", "/usr/bin/php8.2",
                           "/usr/lib/libnode.so.108", "/usr/bin/ruby3.1", "perl"}) {
    EXPECT_TRUE(is_engine_module(path)) << path;
  }
  for (const char* path : {"/usr/bin/node_exporter", "/srv/nodes", "/node/users", "/srv/phpx"}) {
    EXPECT_FALSE(is_engine_module(path)) << path;
  }
}

}  // namespace
}  // namespace filibuster::preload
