#include "preload/runtimes/frame_filter.h"

#include <gtest/gtest.h>

#include <cstring>

namespace filibuster::preload {
namespace {

TEST(FrameFilter, EnginesRunCodeThatTheyMake) {
  for (const char* path :
       {"/usr/bin/node", "/usr/lib/jvm/x/lib/server/libjvm.so", "/usr/bin/php8.2",
        "/usr/lib/libnode.so.108", "/usr/bin/ruby3.1", "perl"}) {
    EXPECT_TRUE(is_engine_module(path)) << path;
  }
  for (const char* path : {"/usr/bin/node_exporter", "/srv/nodes", "/node/users", "/srv/phpx"}) {
    EXPECT_FALSE(is_engine_module(path)) << path;
  }
}

FrameTable table_of(bool deny, std::string_view pattern) {
  FrameTable table{};
  table.count = 1;
  table.rules[0].deny = deny ? 1 : 0;
  table.rules[0].size = static_cast<uint8_t>(pattern.size());
  std::memcpy(table.rules[0].pattern, pattern.data(), pattern.size());
  return table;
}

TEST(FrameFilter, FilesOfGoAndOfItsModulesAreLibraries) {
  for (const char* file :
       {"/usr/lib/go-1.19/src/net/http/client.go", "/usr/local/go/src/runtime/asm_amd64.s",
        "net/http/client.go", "/home/ann/sdk/go1.21.4/src/io/io.go",
        "/home/ann/go/pkg/mod/github.com/gorilla/mux@v1.8.0/mux.go",
        "github.com/gorilla/mux@v1.8.0/mux.go",
        "/usr/share/gocode/src/google.golang.org/grpc/call.go", "/srv/shop/api/shop.pb.go"}) {
    EXPECT_TRUE(is_library_file(file)) << file;
  }
  for (const char* file :
       {"/srv/shop/main.go", "shop/main.go", "main.go", "/home/ann/go/src/shop/main.go",
        "/home/ann/go/src/github.com/ann/net/http.go", "/srv/go/src/users.py",
        "example.com/net/main.go"}) {
    EXPECT_FALSE(is_library_file(file)) << file;
  }
}

TEST(FrameFilter, ListsBeatTheDefaults) {
  const uint32_t before = frame_rules_version();
  set_frame_rules(table_of(false, "requests"));
  EXPECT_NE(frame_rules_version(), before);
  EXPECT_FALSE(is_left_out(FrameKind::kFile, "/usr/lib/python3/dist-packages/requests/api.py"));
  EXPECT_TRUE(is_left_out(FrameKind::kFile, "/usr/lib/python3/dist-packages/flask/app.py"));
  set_frame_rules(table_of(true, "com.acme"));
  EXPECT_TRUE(is_left_out(FrameKind::kClass, "com.acme.Users"));
  EXPECT_TRUE(is_left_out(FrameKind::kClass, "java.lang.Thread"));
  EXPECT_FALSE(is_left_out(FrameKind::kClass, "com.example.Users"));
  const uint32_t same = frame_rules_version();
  set_frame_rules(table_of(true, "com.acme"));
  EXPECT_EQ(frame_rules_version(), same) << "the same lists: what was kept holds";
  set_frame_rules({});
  EXPECT_FALSE(is_left_out(FrameKind::kClass, "com.acme.Users"));
  EXPECT_TRUE(is_left_out(FrameKind::kModule, "/lib/libc.so.6"));
}

}  // namespace
}  // namespace filibuster::preload
