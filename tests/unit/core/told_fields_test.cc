#include "core/rpc/told_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http1/message_parser.h"
#include "core/http2/message_head.h"

namespace filibuster {
namespace {

struct Heads final : http1::Handler {
  void on_head(const http1::MessageHead& head, size_t) override { told = head.told; }
  void on_body(const char*, size_t) override {}
  void on_complete(size_t, Hash128, uint64_t) override {}
  std::string told;
};

std::string read(const std::string& fields, size_t split, const SoughtFields* sought) {
  Heads heads;
  http1::RequestTexts texts;
  http1::MessageParser parser(&texts, &heads);
  parser.look_for(sought);
  const std::string text = "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  split = std::min(split, text.size());
  parser.feed(text.data(), split);
  parser.feed(text.data() + split, text.size() - split);
  return heads.told;
}

TEST(ToldFields, AreReadFromHeadsOfHttp1UnderEverySplit) {
  SoughtFields sought;
  ASSERT_TRUE(sought.told.add("X-Operation"));
  ASSERT_TRUE(sought.told.add("host"));  // a field that the parser itself looks at, too
  for (size_t split = 0; split < 130; ++split) {
    EXPECT_EQ(
        read("X-Amz-Target: Kinesis_20131202.PutRecord\r\nAccept: x\r\nx-operation: Charge\r\n",
             split, &sought),
        "host: a\nx-amz-target: Kinesis_20131202.PutRecord\nx-operation: Charge")
        << split;
  }
}

TEST(ToldFields, NothingElseIsTold) {
  const SoughtFields sought;
  EXPECT_EQ(read("Authorization: secret\r\nX-Operation: Charge\r\n", 0, &sought), "");
  EXPECT_EQ(read("X-Amz-Target: a.B\r\n", 0, nullptr), "");
}

TEST(ToldFields, OfALongValueItsBeginningIsTold) {
  const SoughtFields sought;
  const std::string told =
      read("X-Ms-Version: " + std::string(300, 'v') + "\r\nX-Amz-Target: a.B\r\n", 0, &sought);
  EXPECT_EQ(told, "x-ms-version: " + std::string(kMaxToldValue, 'v') + "\nx-amz-target: a.B");
}

TEST(ToldFields, WhatDoesNotFitIsLeftOut) {
  const SoughtFields sought;
  std::string fields;
  for (int i = 0; i < 8; ++i) fields += "X-Ms-Version: " + std::string(300, 'v') + "\r\n";
  EXPECT_EQ(read(fields, 0, &sought).size(), kMaxToldText);
}

TEST(ToldFields, AreReadFromBlocksOfHttp2) {
  const SoughtFields sought;
  http2::HeadCollector collector;
  collector.look_for(&sought);
  http2::Field field;
  field.name = "x-amz-target";
  field.value = "AmazonSQS.SendMessage";
  collector.on_field(field);
  EXPECT_EQ(collector.head().told, "x-amz-target: AmazonSQS.SendMessage");
  collector.clear();
  EXPECT_EQ(collector.head().told, "");
}

}  // namespace
}  // namespace filibuster
