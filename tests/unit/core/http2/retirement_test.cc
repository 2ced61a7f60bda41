#include "core/http2/retirement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

constexpr uint64_t kOpaque = 0x0908060001020300;  // full of bytes that the headers have, too

std::string headers(uint32_t stream, uint8_t flags = kFlagEndHeaders) {
  return frame(FrameType::kHeaders, flags, stream, "\x82\x86\x84");
}
std::string data(uint32_t stream, std::string_view payload, uint8_t flags = 0) {
  return frame(FrameType::kData, flags, stream, payload);
}

bool is_walk(std::string_view bytes) {
  FrameWalk walk;
  return walk.feed(bytes.data(), bytes.size()) && walk.at_boundary();
}

// --- FrameWalk -----------------------------------------------------------------------------------

TEST(FrameWalk, FollowsAClientInAnySplitAndCountsItsRequests) {
  const std::string bytes =
      join({headers(7), data(7, "body", kFlagEndStream), frame(FrameType::kWindowUpdate, 0, 0, u32(9)),
            headers(9, 0), frame(FrameType::kContinuation, kFlagEndHeaders, 9, "\x87"), ping(),
            ping(true), settings_ack(), settings(setting(4, 65535)), headers(9, kFlagEndHeaders | 1),
            frame(FrameType::kRstStream, 0, 5, u32(8)), frame(FrameType::kPriority, 0, 11, "12345"),
            frame(static_cast<FrameType>(0x10), 0, 0, u32(9) + "u=1"),
            frame(FrameType::kGoaway, 0, 0, u32(0) + u32(0))});
  for_every_split(bytes, [](const Pieces& pieces) {
    FrameWalk walk;
    for (const std::string_view piece : pieces) ASSERT_TRUE(walk.feed(piece.data(), piece.size()));
    EXPECT_TRUE(walk.at_boundary());
    EXPECT_EQ(walk.frames(), 14u);
    EXPECT_EQ(walk.opened(), 2u);
  });
}

TEST(FrameWalk, IsAtABoundaryOnlyBetweenFramesAndNotInsideAHeaderBlock) {
  const std::string bytes = join({headers(1, 0), frame(FrameType::kContinuation, 0, 1, ""),
                                  frame(FrameType::kContinuation, kFlagEndHeaders, 1, "x")});
  FrameWalk walk;
  EXPECT_TRUE(walk.at_boundary());
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_TRUE(walk.feed(&bytes[i], 1));
    EXPECT_EQ(walk.at_boundary(), i + 1 == bytes.size()) << i;
  }
}

TEST(FrameWalk, TakesPiecesUpToASize) {
  std::string bytes = join({headers(1), data(1, "12345")});
  std::string rest = "no frame at all";
  const iovec pieces[] = {{bytes.data(), 4}, {nullptr, 0}, {bytes.data() + 4, bytes.size() - 4}, {rest.data(), rest.size()}};
  FrameWalk walk;
  EXPECT_TRUE(walk.feed(pieces, 4, bytes.size()));
  EXPECT_TRUE(walk.at_boundary());
  EXPECT_FALSE(walk.feed(pieces, 4, bytes.size() + rest.size()) && walk.valid());
}

TEST(FrameWalk, RefusesWhatNoClientSends) {
  const std::vector<std::string> wrong = {
      "GET / HTTP/1.1\r\n\r\n",
      std::string(18, '\0'),                                    // DATA on stream 0
      data(2, "of a push"),                                     //
      data(1, "x", 0x4),                                        // no flag of DATA
      frame(FrameType::kData, kFlagPadded, 1, ""),              // without its pad length
      frame(FrameType::kHeaders, kFlagEndHeaders, 1, ""),       // no field
      frame(FrameType::kHeaders, kFlagEndHeaders, 0, "x"),
      frame(FrameType::kHeaders, 0x42, 1, "x"),
      frame(FrameType::kHeaders, kFlagEndHeaders | kFlagPriority, 1, "12345"),
      frame(FrameType::kPriority, 0, 1, "1234"),
      frame(FrameType::kRstStream, 0, 1, "12345"),
      frame(FrameType::kRstStream, 0, 0, "1234"),
      frame(FrameType::kSettings, 0, 1, ""),
      frame(FrameType::kSettings, 0, 0, "12345"),
      frame(FrameType::kSettings, kFlagAck, 0, "123456"),
      frame(FrameType::kPushPromise, kFlagEndHeaders, 1, "12345"),
      frame(FrameType::kPing, 0, 0, "1234567"),
      frame(FrameType::kPing, 0, 1, "12345678"),
      frame(FrameType::kGoaway, 0, 0, "1234567"),
      frame(FrameType::kWindowUpdate, 0, 0, "12345"),
      frame(FrameType::kContinuation, kFlagEndHeaders, 1, "x"),  // of what block?
      frame(static_cast<FrameType>(0xf1), 0, 1, "unknown"),
      join({headers(1, 0), data(1, "inside a block")}),
      join({headers(1, 0), frame(FrameType::kContinuation, kFlagEndHeaders, 3, "x")}),
  };
  for (const std::string& bytes : wrong) {
    FrameWalk walk;
    EXPECT_FALSE(walk.feed(bytes.data(), bytes.size())) << bytes;
    EXPECT_FALSE(walk.at_boundary());
    EXPECT_FALSE(walk.feed(settings().data(), settings().size())) << "nothing is known any more";
  }
  std::string reserved = headers(1);
  reserved[5] = static_cast<char>(0x80);
  EXPECT_FALSE(is_walk(reserved));
}

TEST(FrameWalk, RefusesWhatGrpcWritesInsideAFrame) {
  // A message begins with a flag and its length of 32 bits, and goes on with a field of protobuf.
  for (uint32_t length = 0; length < 70000; ++length) {
    std::string message = std::string(1, '\0') + u32(length) + "\x08\x07\x12\x05" "hello";
    message.resize(5 + length, 'x');
    EXPECT_FALSE(is_walk(message)) << length;
  }
}

TEST(FrameWalk, OnceTrustedTakesFramesOfUnknownTypes) {
  const std::string bytes = frame(static_cast<FrameType>(0xf1), 0xff, 0, "unknown");
  FrameWalk walk;
  walk.trust();
  EXPECT_TRUE(walk.feed(bytes.data(), bytes.size()));
  EXPECT_TRUE(walk.at_boundary());
}

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
std::string read_in(PingToGoaway* swap, const Pieces& pieces, std::string_view bytes, int* goaways) {
  std::string all;
  size_t at = 0;
  for (const std::string_view piece : pieces) {
    std::string copy(piece);
    const iovec one{copy.data(), copy.size()};
    at += piece.size();
    const std::string_view ahead = bytes.substr(at, kPingSize);
    const auto seen = swap->pass(&one, 1, copy.size(), ahead, false);
    EXPECT_FALSE(seen == PingToGoaway::Seen::kUndecided && ahead.size() == kPingSize);
    if (seen == PingToGoaway::Seen::kUndecided) swap->pass(&one, 1, copy.size(), ahead, true);
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
       {std::string(), data(1, "answer"), ping(true), data(1, std::string("\0\0\x08\x06\1\0\0", 7)),
        data(1, ack.substr(0, 16)), data(3, std::string("\0\0\0", 3))}) {
    const std::string after = join({headers(1), ping(true)});
    const std::string bytes = before + ack + after;
    for_every_split(bytes, [&](const Pieces& pieces) {
      PingToGoaway swap(kOpaque);
      int goaways = 0;
      EXPECT_EQ(read_in(&swap, pieces, bytes, &goaways), before + goaway() + after);
      EXPECT_EQ(goaways, 1);
      EXPECT_TRUE(swap.done());
    });
  }
}

TEST(PingToGoaway, LeavesEverythingElseAlone) {
  const std::string other = ack_of(PingToGoaway(kOpaque + 1));
  const std::string bytes = join({settings(), other, ack_of(PingToGoaway(kOpaque)).substr(0, 8), data(1, "x")});
  for_every_split(bytes, [&](const Pieces& pieces) {
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
        join({data(1, "x"), frame(FrameType::kGoaway, 0, 0, u32(7) + u32(0) + "debug"), headers(1)})}) {
    const std::string after = ping(true);
    const std::string bytes = before + ack + after;
    for_every_split(bytes, [&](const Pieces& pieces) {
      PingToGoaway swap(kOpaque);
      int goaways = 0;
      EXPECT_EQ(read_in(&swap, pieces, bytes, &goaways), before + ignored.substr(0, 9) + goaway().substr(9) + after);
      EXPECT_EQ(goaways, 0);
      EXPECT_TRUE(swap.done());
    });
  }
}

TEST(PingToGoaway, WritesOverSeveralPieces) {
  PingToGoaway swap(kOpaque);
  std::string bytes = "abc" + ack_of(swap) + "de";
  const iovec pieces[] = {{bytes.data(), 6}, {bytes.data() + 6, 0}, {bytes.data() + 6, 9}, {bytes.data() + 15, 7}};
  EXPECT_EQ(swap.pass(pieces, 4, bytes.size(), {}, false), PingToGoaway::Seen::kGoaway);
  EXPECT_EQ(bytes, "abc" + goaway() + "de");
  EXPECT_EQ(swap.pass(pieces, 4, bytes.size(), {}, false), PingToGoaway::Seen::kNothing);
}

TEST(PingToGoaway, AsksForMoreWhereTheEndOfAReadTellsTooLittle) {
  const std::string ack = ack_of(PingToGoaway(kOpaque));
  for (size_t cut = 1; cut < kPingSize; ++cut) {
    std::string first = "data" + ack.substr(0, cut);
    const iovec one{first.data(), first.size()};
    PingToGoaway swap(kOpaque);
    const auto seen = swap.pass(&one, 1, first.size(), {}, false);
    // The first three bytes are those of either.
    EXPECT_EQ(seen == PingToGoaway::Seen::kUndecided, cut > 3) << cut;
    EXPECT_EQ(first, "data" + ack.substr(0, cut)) << "nothing is changed before it is known";
    // Nothing more comes: with its header whole it is taken for what it looks like.
    swap.pass(&one, 1, first.size(), {}, true);
    EXPECT_EQ(first, "data" + (cut >= 9 ? goaway() : ack).substr(0, cut)) << cut;
  }
}

TEST(PingToGoaway, ShowsTheSameToWhoOnlyLooks) {
  const PingToGoaway swap(kOpaque);
  std::string bytes = "x" + ack_of(swap);
  const iovec one{bytes.data(), bytes.size()};
  swap.peek(&one, 1, bytes.size());
  EXPECT_EQ(bytes, "x" + goaway());
  EXPECT_FALSE(swap.done());
}

// --- fails_on_goaway -----------------------------------------------------------------------------

TEST(FailsOnGoaway, KnowsClientsByTheirFirstSettings) {
  const auto first = [](std::initializer_list<uint16_t> ids) {
    std::string all;
    for (const uint16_t id : ids) all += setting(id, 100);
    return settings(all) + frame(FrameType::kWindowUpdate, 0, 0, u32(1));
  };
  EXPECT_TRUE(fails_on_goaway(first({1, 2, 3, 4, 5})));        // java.net.http
  EXPECT_TRUE(fails_on_goaway(first({1, 2, 4, 5, 3, 6})));     // httpcore
  EXPECT_FALSE(fails_on_goaway(first({2, 3, 4, 5, 6, 0xfe03})));  // grpc
  EXPECT_FALSE(fails_on_goaway(first({1, 2, 3, 4, 5, 6, 0xfe03})));
  EXPECT_FALSE(fails_on_goaway(first({2, 3, 4, 6})));          // grpc-java
  EXPECT_FALSE(fails_on_goaway(first({3, 4, 2})));             // curl
  EXPECT_FALSE(fails_on_goaway(first({})));                    // Node
  EXPECT_FALSE(fails_on_goaway(""));
  EXPECT_FALSE(fails_on_goaway(settings(setting(1, 1) + setting(3, 1) + setting(5, 1)).substr(0, 26)))
      << "not all of it is at hand";
  EXPECT_FALSE(fails_on_goaway(data(1, setting(1, 1) + setting(3, 1) + setting(5, 1))));
}

}  // namespace
}  // namespace filibuster::http2
