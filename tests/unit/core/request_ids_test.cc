#include "core/rpc/request_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http1/message_parser.h"
#include "core/http2/message_head.h"

namespace filibuster {
namespace {

struct Heads final : http1::Handler {
  void on_head(const http1::MessageHead& head, size_t) override {
    id = head.request_id;
    row = head.request_id_row;
  }
  void on_body(const char*, size_t) override {}
  void on_complete(size_t, Hash128, uint64_t) override {}
  std::string id;
  uint8_t row = 0;
};

Heads read(const std::string& fields, size_t split, const SoughtFields* sought) {
  Heads heads;
  http1::RequestTexts texts;
  http1::MessageParser parser(&texts, &heads);
  parser.look_for(sought);
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  split = std::min(split, text.size());
  parser.feed(text.data(), split);
  parser.feed(text.data() + split, text.size() - split);
  return heads;
}

TEST(RequestIds, KnowThoseOfTheCloudServicesInAnyCaseOfLetters) {
  const RequestIdTable table;
  EXPECT_EQ(table.find("X-MS-Client-Request-Id"), 0);
  EXPECT_EQ(table.find("amz-sdk-invocation-id"), 1);
  EXPECT_EQ(table.find("Idempotency-Key"), 2);
  EXPECT_TRUE(table.with_path(table.find("x-request-id")));
  EXPECT_EQ(table.find("x-request-ids"), kNoRequestId);
  EXPECT_EQ(table.find(std::string(200, 'x')), kNoRequestId);
}

TEST(RequestIds, TakeThoseOfTheConfigurationAndNoMoreThanFit) {
  RequestIdTable table;
  EXPECT_TRUE(table.add("X-Correlation", false));
  EXPECT_EQ(table.find("x-correlation"), std::size(kRequestIds));
  EXPECT_TRUE(table.add("x-correlation", true));  // it stays as it is
  EXPECT_FALSE(table.with_path(table.find("x-correlation")));
  EXPECT_FALSE(table.add("", false));
  EXPECT_FALSE(table.add(std::string(64, 'x'), false));
  size_t added = table.size();
  while (table.add("x-" + std::to_string(added), false)) ++added;
  EXPECT_EQ(added, kMaxFields);
}

TEST(RequestIds, AreReadFromHeadsOfHttp1UnderEverySplit) {
  const SoughtFields sought;
  for (size_t split = 0; split < 80; ++split) {
    const Heads heads =
        read("X-Ms-Client-Request-Id: abc-1\r\nX-Request-Id: zz\r\n", split, &sought);
    EXPECT_EQ(heads.id, "abc-1") << split;
    EXPECT_EQ(heads.row, 0);
  }
}

TEST(RequestIds, OfSeveralTheOneOfTheCallItselfCounts) {
  const SoughtFields sought;
  const Heads heads = read("X-Request-Id: zz\r\nIdempotency-Key: k\r\nAccept: x\r\n", 0, &sought);
  EXPECT_EQ(heads.id, "k");
  ASSERT_NE(heads.row, kNoRequestId);
  EXPECT_EQ(sought.request_ids.name(heads.row), "idempotency-key");
}

TEST(RequestIds, AreNotReadWithoutATableOrAValue) {
  const SoughtFields sought;
  EXPECT_EQ(read("X-Request-Id: zz\r\n", 0, nullptr).row, kNoRequestId);
  EXPECT_EQ(read("X-Request-Id: \r\n", 0, &sought).row, kNoRequestId);
}

TEST(RequestIds, AreReadFromBlocksOfHttp2) {
  const SoughtFields sought;
  http2::HeadCollector collector;
  collector.look_for(&sought);
  const auto field = [&](std::string_view name, std::string_view value) {
    http2::Field one;
    one.name = name;
    one.value = value;
    collector.on_field(one);
  };
  field("x-request-id", "zz");
  field("amz-sdk-invocation-id", "inv");
  field("grpc-previous-rpc-attempts", "2");
  EXPECT_EQ(collector.head().request_id, "inv");
  EXPECT_TRUE(collector.head().was_attempted);
  collector.clear();
  EXPECT_EQ(collector.head().request_id_row, kNoRequestId);
  EXPECT_FALSE(collector.head().was_attempted);
}

}  // namespace
}  // namespace filibuster
