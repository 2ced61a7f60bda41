#include "daemon/explore/lane_answers.h"

#include <gtest/gtest.h>

#include "core/hash.h"

namespace filibuster {
namespace {

const LaneAnswers kAnswers({{"a", 21001}, {"b", 21002}}, {{"a", 20001}, {"b", 20002}});

RpcRecord answered(const std::string& body) {
  RpcRecord rpc;
  rpc.response_sample = body;
  rpc.response_size = body.size();
  rpc.response = hash_text(body);
  return rpc;
}

bool translate(ExecutionRecord* record, bool known = false) {
  return kAnswers.translate(record, [known](Hash128) { return known; });
}

TEST(LaneAnswers, PutsThePortsOfLane0IntoWholeNumbersOnly) {
  EXPECT_EQ(kAnswers.translated("http://127.0.0.1:21001/x?b=21002"),
            "http://127.0.0.1:20001/x?b=20002");
  EXPECT_EQ(kAnswers.translated("121001 210010 21001"), "121001 210010 20001");
  EXPECT_EQ(kAnswers.translated(""), "");
}

TEST(LaneAnswers, GivesAnAnswerTheDigestThatLane0WouldHave) {
  ExecutionRecord record;
  record.rpcs = {answered("see 21001"), answered("nothing"), answered("")};
  EXPECT_TRUE(translate(&record));
  EXPECT_EQ(record.rpcs[0].response, hash_text("see 20001"));
  EXPECT_EQ(record.rpcs[0].response_sample, "see 20001");
  EXPECT_EQ(record.rpcs[1].response, hash_text("nothing"));
}

TEST(LaneAnswers, IsNotSureOfALongAnswerThatLane0HasNotShown) {
  ExecutionRecord record;
  record.rpcs = {answered("the beginning")};
  record.rpcs[0].response_size = 5000;
  EXPECT_FALSE(translate(&record));
  EXPECT_TRUE(translate(&record, /*known=*/true));
}

TEST(LaneAnswers, IsNotSureOfAnAnswerWhoseDigestIsNotThatOfItsText) {
  ExecutionRecord record;
  record.rpcs = {answered("masked 21001")};
  record.rpcs[0].response = hash_text("something else");
  EXPECT_FALSE(translate(&record));
  EXPECT_EQ(record.rpcs[0].response_sample, "masked 21001");
}

}  // namespace
}  // namespace filibuster
