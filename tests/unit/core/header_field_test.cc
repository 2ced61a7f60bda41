#include "core/rpc/header_field.h"

#include <gtest/gtest.h>

#include <string>

namespace filibuster {
namespace {

constexpr std::string_view kValue =
    "1-0000abcd-0002-00000007-0000000300000009-0123456789abcdeffedcba9876543210";

RpcContext example() {
  return {.session = 0xabcd,
          .lane = 2,
          .execution = 7,
          .rpc = uint64_t{3} << 32 | 9,
          .path = {0x0123456789abcdef, 0xfedcba9876543210}};
}

std::string field_of(const RpcContext& context) {
  std::string value(kHeaderValueSize, '?');
  encode_header_value(context, value.data());
  return value;
}

TEST(HeaderField, HasTheDocumentedForm) {
  EXPECT_EQ(field_of(example()), kValue);
  EXPECT_EQ(kValue.size(), kHeaderValueSize);
}

TEST(HeaderField, LineIsNameValueAndLineEnd) {
  std::string line(kHeaderLineSize + 1, '?');
  encode_header_line(example(), line.data());
  EXPECT_EQ(line, "x-filibuster: " + std::string(kValue) + "\r\n?");
}

TEST(HeaderField, RoundTripsItsExtremes) {
  constexpr uint64_t kAll = ~uint64_t{0};
  for (const RpcContext& context :
       {RpcContext{}, example(),
        RpcContext{0xffffffff, 0xffff, 0xffffffff, kAll, Hash128{kAll, kAll}}}) {
    RpcContext back;
    ASSERT_TRUE(decode_header_value(field_of(context), &back));
    EXPECT_EQ(back, context);
  }
}

TEST(HeaderField, EveryDamageOfOneByteIsRefusedOrAnotherValue) {
  RpcContext before;
  before.session = 42;
  for (size_t at = 0; at < kValue.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text(kValue);
      if (text[at] == static_cast<char>(byte)) continue;
      text[at] = static_cast<char>(byte);
      RpcContext out = before;
      if (decode_header_value(text, &out)) {
        EXPECT_EQ(field_of(out), text);  // of each value there is exactly one form
        EXPECT_NE(kValue[at], '-');
        EXPECT_NE(at, 0u);
      } else {
        EXPECT_EQ(out, before);
      }
    }
  }
}

TEST(HeaderField, UpperCaseIsRefused) {
  RpcContext out;
  std::string text(kValue);
  text[7] = 'A';
  EXPECT_FALSE(decode_header_value(text, &out));
}

TEST(HeaderField, EveryOtherLengthIsRefused) {
  RpcContext out;
  for (size_t size = 0; size < kValue.size(); ++size) {
    EXPECT_FALSE(decode_header_value(kValue.substr(0, size), &out));
  }
  EXPECT_FALSE(decode_header_value(std::string(kValue) + "0", &out));
  EXPECT_FALSE(decode_header_value(" " + std::string(kValue), &out));
  EXPECT_FALSE(decode_header_value(std::string(kValue) + ", " + std::string(kValue), &out));
}

TEST(HeaderField, AnotherVersionIsRefused) {
  RpcContext out;
  std::string text(kValue);
  text[0] = '2';
  EXPECT_FALSE(decode_header_value(text, &out));
}

TEST(RuntimeField, ComesBackAsItWasWritten) {
  RuntimeField field;
  field.site = 0x0123456789abcdef;
  field.thread = 0x89abcdef;
  char text[kRuntimeValueSize];
  for (const bool has_cause : {false, true}) {
    field.has_cause = has_cause;
    if (has_cause) {
      ASSERT_TRUE(decode_header_value(kValue, &field.cause));
    }
    encode_runtime_value(field, text);
    RuntimeField out;
    ASSERT_TRUE(decode_runtime_value({text, sizeof text}, &out));
    EXPECT_EQ(out, field);
  }
  EXPECT_EQ(std::string(text, sizeof text), std::string(kValue) + "-0123456789abcdef-89abcdef");
}

TEST(RuntimeField, SaysWhatIsKnownOfTheBodyInPlaceOfTheVersion) {
  using Body = RuntimeField::Body;
  RuntimeField field;
  char text[kRuntimeValueSize];
  RuntimeField out;
  for (const Body body : {Body::kNotSaid, Body::kFollows, Body::kInPieces}) {
    for (const bool cause_known : {false, true}) {
      field.body = body;
      field.cause_known = cause_known;
      encode_runtime_value(field, text);
      EXPECT_EQ(text[0], "0123"[static_cast<int>(body)]);
      ASSERT_TRUE(decode_runtime_value({text, sizeof text}, &out));
      EXPECT_EQ(out, field);
    }
  }
  for (const char version : {'0', '4'}) {
    text[0] = version;
    EXPECT_FALSE(decode_runtime_value({text, sizeof text}, &out));
  }
}

TEST(RuntimeField, NothingElseIsOne) {
  RuntimeField field;
  char text[kRuntimeValueSize];
  encode_runtime_value(field, text);
  RuntimeField out;
  for (size_t size = 0; size < sizeof text; ++size)
    EXPECT_FALSE(decode_runtime_value({text, size}, &out)) << size;
  for (size_t at = 0; at < sizeof text; ++at) {
    std::string damaged(text, sizeof text);
    damaged[at] = 'x';
    EXPECT_FALSE(decode_runtime_value(damaged, &out)) << at;
  }
  RpcContext context;
  EXPECT_FALSE(decode_header_value({text, sizeof text}, &context));
}

}  // namespace
}  // namespace filibuster
