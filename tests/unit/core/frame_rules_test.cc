#include "core/index/frame_rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace filibuster {
namespace {

constexpr auto kFile = FrameKind::kFile;
constexpr auto kModule = FrameKind::kModule;
constexpr auto kClass = FrameKind::kClass;

FrameTable table_of(std::initializer_list<std::pair<bool, std::string_view>> rules) {
  FrameTable table{};
  for (const auto& [deny, pattern] : rules) {
    FrameRule& rule = table.rules[table.count++];
    rule.deny = deny ? 1 : 0;
    rule.size = static_cast<uint8_t>(pattern.size());
    std::memcpy(rule.pattern, pattern.data(), pattern.size());
  }
  return table;
}

TEST(FrameRules, ModulesMatchByBaseNameOrPath) {
  EXPECT_TRUE(frame_matches("libshop.so*", kModule, "/opt/lib/libshop.so.3"));
  EXPECT_TRUE(frame_matches("/opt/lib/*", kModule, "/opt/lib/libshop.so.3"));
  EXPECT_TRUE(frame_matches("lib/libshop.so.3", kModule, "/opt/lib/libshop.so.3"));
  EXPECT_FALSE(frame_matches("libshop.so", kModule, "/opt/lib/libshop.so.3"));
  EXPECT_FALSE(frame_matches("opt", kModule, "/opt/lib/libshop.so.3"));
}

TEST(FrameRules, FilesMatchByNamePathModuleAndPackage) {
  const std::string_view cart = "/srv/app/shop/cart.py";
  for (const char* pattern : {"cart.py", "shop/cart.py", "/srv/*", "cart", "shop.cart", "shop",
                              "app.shop", "shop.*", "*/shop/*"}) {
    EXPECT_TRUE(frame_matches(pattern, kFile, cart)) << pattern;
  }
  for (const char* pattern : {"car", "cart.p", "hop/cart.py", "hop", "shop.car", "srv/app"}) {
    EXPECT_FALSE(frame_matches(pattern, kFile, cart)) << pattern;
  }
  EXPECT_TRUE(
      frame_matches("requests", kFile, "/usr/lib/python3/dist-packages/requests/__init__.py"));
  const std::string_view router = "/srv/node_modules/a/node_modules/@acme/web/lib/router.js";
  EXPECT_TRUE(frame_matches("@acme/web", kFile, router));
  EXPECT_TRUE(frame_matches("@acme/*", kFile, router));
  EXPECT_TRUE(frame_matches("router.js", kFile, router));
  EXPECT_FALSE(frame_matches("a", kFile, router));
  EXPECT_TRUE(frame_matches("express", kFile, "/srv/node_modules/express/index.js"));
}

TEST(FrameRules, ClassesMatchByNameAndPackage) {
  for (const char* pattern :
       {"com.acme", "com.acme.Users", "com.*.Users", "*.Users", "com.acme.U*"})
    EXPECT_TRUE(frame_matches(pattern, kClass, "com.acme.Users$Cache")) << pattern;
  for (const char* pattern : {"acme", "com.acm", "com.acme.User", "Users"})
    EXPECT_FALSE(frame_matches(pattern, kClass, "com.acme.Users$Cache")) << pattern;
}

TEST(FrameRules, AllowBeatsDenyBeatsTheDefault) {
  const FrameTable table = table_of({{true, "shop"}, {false, "shop.cart"}});
  EXPECT_EQ(frame_verdict(table, kFile, "/srv/shop/cart.py"), FrameVerdict::kCounts);
  EXPECT_EQ(frame_verdict(table, kFile, "/srv/shop/users.py"), FrameVerdict::kLeftOut);
  EXPECT_EQ(frame_verdict(table, kFile, "/srv/other/users.py"), FrameVerdict::kDefault);
  EXPECT_EQ(frame_verdict(FrameTable{}, kFile, "/srv/shop/cart.py"), FrameVerdict::kDefault);
}

TEST(FrameRules, ATornTableIsClamped) {
  FrameTable table = table_of({{true, "shop"}});
  table.count = ~uint32_t{0};
  table.rules[1].size = 255;
  EXPECT_EQ(frame_verdict(table, kFile, "/srv/other.py"), FrameVerdict::kDefault);
  EXPECT_FALSE(frame_matches("*", kFile, ""));
  EXPECT_TRUE(frame_matches("x.*", kFile, "/" + std::string(2000, 'a') + "/x/y.py"));
}

}  // namespace
}  // namespace filibuster
