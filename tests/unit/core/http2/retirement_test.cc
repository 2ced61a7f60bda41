#include "core/http2/retirement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

constexpr uint64_t kOpaque = 0x0908060001020300;  // full of bytes that the headers have, too

// --- PingToGoaway --------------------------------------------------------------------------------

std::string ack_of(const PingToGoaway& swap) {
  std::string bytes(swap.ping(), kPingSize);
  bytes[4] = static_cast<char>(kFlagAck);
  return bytes;
}
std::string goaway() {
  return frame(FrameType::kGoaway, 0, 0, u32(0x7fffffff) + u32(0));
}

// Reads `bytes` in pieces, each looking ahead as far as there is something.
std::string read_in(PingToGoaway* swap, const Parts& pieces, std::string_view bytes, int* goaways) {
  std::string all;
  size_t at = 0;
  for (const std::string_view piece : pieces) {
    std::string copy(piece);
    const iovec one{copy.data(), copy.size()};
    at += piece.size();
    const std::string_view ahead = bytes.substr(at, kPingSize);
    const auto seen = swap->pass(one, copy.size(), ahead, false);
    EXPECT_FALSE(seen == PingToGoaway::Seen::kUndecided && ahead.size() == kPingSize);
    if (seen == PingToGoaway::Seen::kUndecided) swap->pass(one, copy.size(), ahead, true);
    if (seen == PingToGoaway::Seen::kGoaway) ++*goaways;
    all += copy;
  }
  return all;
}

TEST(PingToGoaway, SendsAPing) {
  const PingToGoaway swap(kOpaque);
  const FrameHeader h = read_frame_header(swap.ping());
  EXPECT_EQ(h, (FrameHeader{8, FrameType::kPing, 0, 0}));
}

TEST(PingToGoaway, MakesAGoawayOfTheAcknowledgementInAnySplit) {
  const std::string ack = ack_of(PingToGoaway(kOpaque));
  // In front of it, beginnings of it that are none.
  for (const std::string& before :
       {std::string(), data_frame(1, "answer"), ping(true),
        data_frame(1, std::string("\0\0\x08\x06\1\0\0", 7)), data_frame(1, ack.substr(0, 16)),
        data_frame(3, std::string("\0\0\0", 3))}) {
    const std::string after = join({headers_frame(1), ping(true)});
    const std::string bytes = before + ack + after;
    for_every_split(bytes, [&](const Parts& pieces) {
      PingToGoaway swap(kOpaque);
      int goaways = 0;
      EXPECT_EQ(read_in(&swap, pieces, bytes, &goaways), before + goaway() + after);
      EXPECT_EQ(goaways, 1);
    });
  }
}

TEST(PingToGoaway, LeavesEverythingElseAlone) {
  const std::string other = ack_of(PingToGoaway(kOpaque + 1));
  const std::string bytes =
      join({settings(), other, ack_of(PingToGoaway(kOpaque)).substr(0, 8), data_frame(1, "x")});
  for_every_split(bytes, [&](const Parts& pieces) {
    PingToGoaway swap(kOpaque);
    int goaways = 0;
    EXPECT_EQ(read_in(&swap, pieces, bytes, &goaways), bytes);
    EXPECT_EQ(goaways, 0);
  });
}

// A GOAWAY must not name a higher stream than one before it (RFC 9113 §6.8).
TEST(PingToGoaway, SendsNoneWhereTheServerMayHaveSentOne) {
  const std::string ack = ack_of(PingToGoaway(kOpaque));
  std::string ignored = goaway();
  ignored[3] = static_cast<char>(0xf2);
  for (const std::string& before :
       {frame(FrameType::kGoaway, 0, 0, u32(7) + u32(0)),
        join({data_frame(1, "x"), frame(FrameType::kGoaway, 0, 0, u32(7) + u32(0) + "debug"),
              headers_frame(1)})}) {
    const std::string after = ping(true);
    const std::string bytes = before + ack + after;
    for_every_split(bytes, [&](const Parts& pieces) {
      PingToGoaway swap(kOpaque);
      int goaways = 0;
      EXPECT_EQ(read_in(&swap, pieces, bytes, &goaways),
                before + ignored.substr(0, 9) + goaway().substr(9) + after);
      EXPECT_EQ(goaways, 0);
    });
  }
}

TEST(PingToGoaway, WritesOverSeveralPieces) {
  PingToGoaway swap(kOpaque);
  std::string bytes = "abc" + ack_of(swap) + "de";
  const iovec pieces[] = {
      {bytes.data(), 6}, {bytes.data() + 6, 0}, {bytes.data() + 6, 9}, {bytes.data() + 15, 7}};
  EXPECT_EQ(swap.pass({pieces, 4}, bytes.size(), {}, false), PingToGoaway::Seen::kGoaway);
  EXPECT_EQ(bytes, "abc" + goaway() + "de");
  EXPECT_EQ(swap.pass({pieces, 4}, bytes.size(), {}, false), PingToGoaway::Seen::kNothing);
}

TEST(PingToGoaway, AsksForMoreWhereTheEndOfAReadTellsTooLittle) {
  const std::string ack = ack_of(PingToGoaway(kOpaque));
  for (size_t cut = 1; cut < kPingSize; ++cut) {
    std::string first = "data" + ack.substr(0, cut);
    const iovec one{first.data(), first.size()};
    PingToGoaway swap(kOpaque);
    const auto seen = swap.pass(one, first.size(), {}, false);
    // The first three bytes are those of either.
    EXPECT_EQ(seen == PingToGoaway::Seen::kUndecided, cut > 3) << cut;
    EXPECT_EQ(first, "data" + ack.substr(0, cut)) << "nothing is changed before it is known";
    // Nothing more comes: with its header whole it is taken for what it looks like.
    swap.pass(one, first.size(), {}, true);
    EXPECT_EQ(first, "data" + (cut >= 9 ? goaway() : ack).substr(0, cut)) << cut;
  }
}

TEST(PingToGoaway, ShowsTheSameToWhoOnlyLooks) {
  const PingToGoaway swap(kOpaque);
  std::string bytes = "x" + ack_of(swap);
  const iovec one{bytes.data(), bytes.size()};
  swap.peek(one, bytes.size());
  EXPECT_EQ(bytes, "x" + goaway());
}

// --- fails_on_goaway -----------------------------------------------------------------------------

TEST(FailsOnGoaway, KnowsClientsByTheirFirstSettings) {
  const auto first = [](std::initializer_list<uint16_t> ids) {
    std::string all;
    for (const uint16_t id : ids) all += setting(id, 100);
    return settings(all) + frame(FrameType::kWindowUpdate, 0, 0, u32(1));
  };
  EXPECT_TRUE(fails_on_goaway(first({1, 2, 3, 4, 5})));           // java.net.http
  EXPECT_TRUE(fails_on_goaway(first({1, 2, 4, 5, 3, 6})));        // httpcore
  EXPECT_FALSE(fails_on_goaway(first({2, 3, 4, 5, 6, 0xfe03})));  // grpc
  EXPECT_FALSE(fails_on_goaway(first({1, 2, 3, 4, 5, 6, 0xfe03})));
  EXPECT_FALSE(fails_on_goaway(first({2, 3, 4, 6})));  // grpc-java
  EXPECT_FALSE(fails_on_goaway(first({3, 4, 2})));     // curl
  EXPECT_FALSE(fails_on_goaway(first({})));            // Node
  EXPECT_FALSE(fails_on_goaway(""));
  EXPECT_FALSE(
      fails_on_goaway(settings(setting(1, 1) + setting(3, 1) + setting(5, 1)).substr(0, 26)))
      << "not all of it is at hand";
  EXPECT_FALSE(fails_on_goaway(data_frame(1, setting(1, 1) + setting(3, 1) + setting(5, 1))));
}

}  // namespace
}  // namespace filibuster::http2
