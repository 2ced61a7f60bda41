#include "core/text/base64.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(Base64, IsThatOfRfc4648) {
  const struct {
    const char *bytes, *text;
  } rows[] = {{"", ""},
              {"f", "Zg=="},
              {"fo", "Zm8="},
              {"foo", "Zm9v"},
              {"foob", "Zm9vYg=="},
              {"fooba", "Zm9vYmE="},
              {"foobar", "Zm9vYmFy"}};
  for (const auto& row : rows) {
    EXPECT_EQ(to_base64(row.bytes), row.text);
    EXPECT_EQ(from_base64(row.text), row.bytes);
    std::string bare = row.text;
    bare.resize(std::min(bare.find('='), bare.size()));
    EXPECT_EQ(from_base64(bare), row.bytes) << bare;
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_base64(to_base64(all)), all);
}

TEST(Base64, WithoutAnAllocationItHasNoPaddingAndTakesBothAlphabets) {
  char out[8];
  EXPECT_EQ(encode_base64("fooba", out, sizeof out), 7u);
  EXPECT_EQ(std::string_view(out, 7), "Zm9vYmE");
  EXPECT_EQ(encode_base64("foobar!", out, sizeof out), SIZE_MAX) << "ten characters";
  for (const char* text : {"-_-_", "+/+/", "-_-_==="}) {
    ASSERT_EQ(decode_base64(text, out, sizeof out), 3u) << text;
    EXPECT_EQ(std::string_view(out, 3), "\xfb\xff\xbf") << text;
  }
  EXPECT_EQ(decode_base64("Zm9vYmFyZm9vYmFy", out, sizeof out), SIZE_MAX) << "twelve bytes";
  for (const char* text : {"Z", "Zm9v!", "Zm 9"})
    EXPECT_EQ(decode_base64(text, out, sizeof out), SIZE_MAX);
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text : {"Z", "Zg=", "Zg===", "=", "====", "Zm9vY", "Zm 9", "Zm9v\n", "Zm-_",
                           "Z=g=", "Zh==", "Zm9="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace filibuster
