#include "core/http2/frame_walk.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

bool is_walk(std::string_view bytes) {
  FrameWalk walk;
  return walk.feed(bytes.data(), bytes.size()) && walk.at_boundary();
}

// --- FrameWalk -----------------------------------------------------------------------------------

TEST(FrameWalk, FollowsAClientInAnySplitAndCountsItsRequests) {
  const std::string bytes =
      join({headers_frame(7), data_frame(7, "body", kFlagEndStream),
            frame(FrameType::kWindowUpdate, 0, 0, u32(9)), headers_frame(9, 0),
            frame(FrameType::kContinuation, kFlagEndHeaders, 9, "\x87"), ping(), ping(true),
            settings_ack(), settings(setting(4, 65535)), headers_frame(9, kFlagEndHeaders | 1),
            frame(FrameType::kRstStream, 0, 5, u32(8)), frame(FrameType::kPriority, 0, 11, "12345"),
            frame(static_cast<FrameType>(0x10), 0, 0, u32(9) + "u=1"),
            frame(FrameType::kGoaway, 0, 0, u32(0) + u32(0))});
  for_every_split(bytes, [](const Parts& pieces) {
    FrameWalk walk;
    for (const std::string_view piece : pieces) ASSERT_TRUE(walk.feed(piece.data(), piece.size()));
    EXPECT_TRUE(walk.at_boundary());
    EXPECT_EQ(walk.frames(), 14u);
    EXPECT_EQ(walk.opened(), 2u);
  });
}

TEST(FrameWalk, IsAtABoundaryOnlyBetweenFramesAndNotInsideAHeaderBlock) {
  const std::string bytes = join({headers_frame(1, 0), frame(FrameType::kContinuation, 0, 1, ""),
                                  frame(FrameType::kContinuation, kFlagEndHeaders, 1, "x")});
  FrameWalk walk;
  EXPECT_TRUE(walk.at_boundary());
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_TRUE(walk.feed(&bytes[i], 1));
    EXPECT_EQ(walk.at_boundary(), i + 1 == bytes.size()) << i;
  }
}

TEST(FrameWalk, TakesPiecesUpToASize) {
  std::string bytes = join({headers_frame(1), data_frame(1, "12345")});
  std::string rest = "no frame at all";
  const iovec pieces[] = {{bytes.data(), 4},
                          {nullptr, 0},
                          {bytes.data() + 4, bytes.size() - 4},
                          {rest.data(), rest.size()}};
  FrameWalk walk;
  EXPECT_TRUE(walk.feed({pieces, 4}, bytes.size()));
  EXPECT_TRUE(walk.at_boundary());
  EXPECT_FALSE(walk.feed({pieces, 4}, bytes.size() + rest.size()) && walk.valid());
}

TEST(FrameWalk, RefusesWhatNoClientSends) {
  const std::vector<std::string> wrong = {
      "GET / HTTP/1.1\r\n\r\n",
      std::string(18, '\0'),                               // DATA on stream 0
      data_frame(2, "of a push"),                          //
      data_frame(1, "x", 0x4),                             // no flag of DATA
      frame(FrameType::kData, kFlagPadded, 1, ""),         // without its pad length
      frame(FrameType::kHeaders, kFlagEndHeaders, 1, ""),  // no field
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
      join({headers_frame(1, 0), data_frame(1, "inside a block")}),
      join({headers_frame(1, 0), frame(FrameType::kContinuation, kFlagEndHeaders, 3, "x")}),
  };
  for (const std::string& bytes : wrong) {
    FrameWalk walk;
    EXPECT_FALSE(walk.feed(bytes.data(), bytes.size())) << bytes;
    EXPECT_FALSE(walk.at_boundary());
    EXPECT_FALSE(walk.feed(settings().data(), settings().size())) << "nothing is known any more";
  }
  std::string reserved = headers_frame(1);
  reserved[5] = static_cast<char>(0x80);
  EXPECT_FALSE(is_walk(reserved));
}

TEST(FrameWalk, RefusesWhatGrpcWritesInsideAFrame) {
  // A message begins with a flag and its length of 32 bits, and goes on with a field of protobuf.
  for (uint32_t length = 0; length < 70000; ++length) {
    std::string message = std::string(1, '\0') + u32(length) +
                          "\x08\x07\x12\x05"
                          "hello";
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

// --- BoundarySearch ------------------------------------------------------------------------------

struct Client {
  BoundarySearch search;

  bool opens(std::string_view offered) {
    const iovec piece{const_cast<char*>(offered.data()), offered.size()};
    return search.opens_request(piece, offered.size());
  }
  uint64_t sent(std::string_view offered, size_t accepted) {
    const iovec piece{const_cast<char*>(offered.data()), offered.size()};
    return search.sent(piece, accepted, offered.size());
  }
  uint64_t sent(std::string_view offered) { return sent(offered, offered.size()); }
};

TEST(BoundarySearch, BelievesAWriteOfWholeFramesAndCountsItsRequests) {
  Client client;
  EXPECT_FALSE(client.opens(ping())) << "certain, but not a request";
  EXPECT_TRUE(client.search.found());
  EXPECT_EQ(client.sent(ping()), 0u);
  const std::string two = headers_frame(7) + headers_frame(9);
  EXPECT_TRUE(client.opens(two));
  EXPECT_EQ(client.sent(two, 22), 2u) << "by the headers of their frames";
  EXPECT_FALSE(client.opens(two.substr(22)));
  EXPECT_EQ(client.sent(two.substr(22)), 0u);
  EXPECT_FALSE(client.opens(headers_frame(9))) << "trailers of a stream that is open";
  EXPECT_EQ(client.sent(headers_frame(9)), 0u);
}

TEST(BoundarySearch, GoesOnLookingInsideAFrameThatIsNone) {
  // Without its first byte, it is a DATA frame of 1792 bytes, which everything after it lies in.
  const std::string inside = data_frame(1, "message").substr(1);
  FrameWalk walk;
  ASSERT_TRUE(walk.feed(inside.data(), inside.size()) && !walk.at_boundary());

  Client client;
  EXPECT_FALSE(client.opens(inside));
  EXPECT_GE(client.sent(inside), 1u) << "it may be a request";
  uint32_t stream = 3;
  for (; !client.search.found(); stream += 2) {
    ASSERT_LT(stream, 100u) << "not found before the end of what is no frame";
    ASSERT_FALSE(client.opens(headers_frame(stream)));
    EXPECT_GE(client.sent(headers_frame(stream)), 1u);
  }
  EXPECT_TRUE(client.opens(headers_frame(stream)));
  EXPECT_EQ(client.sent(headers_frame(stream)), 1u);
}

TEST(BoundarySearch, BelievesTheFirstWalkWhereAFrameHoldsOthers) {
  std::string others;
  for (uint32_t stream = 1; stream < 41; stream += 2) others += headers_frame(stream);
  const std::string outer = data_frame(5, others);
  Client client;
  EXPECT_FALSE(client.opens(outer.substr(0, kFrameHeaderSize)));
  client.sent(outer.substr(0, kFrameHeaderSize));
  EXPECT_FALSE(client.opens(outer.substr(kFrameHeaderSize)));
  client.sent(outer.substr(kFrameHeaderSize));
  EXPECT_TRUE(client.opens(headers_frame(7)));
  EXPECT_EQ(client.sent(headers_frame(7)), 1u);
}

TEST(BoundarySearch, BeginsAnewAfterWhatIsNoFrame) {
  Client client;
  client.opens(headers_frame(1));
  EXPECT_EQ(client.sent(headers_frame(1)), 1u);
  const std::string wrong = data_frame(2, "of a push");
  EXPECT_FALSE(client.opens(wrong));
  EXPECT_EQ(client.sent(wrong), 1u) << "there may be one in it";
  EXPECT_FALSE(client.search.found());
  EXPECT_TRUE(client.opens(headers_frame(3)));
}

// A busy client that is joined at any byte, whose writes are accepted in parts.
TEST(BoundarySearch, FindsTheFramesOfABusyClientFromAnyByteOn) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<size_t>(random() % n); };
    uint32_t stream = 1 + 2 * static_cast<uint32_t>(below(700));
    Client client;
    bool joined = false;
    for (int frames = 0; frames < 60;) {
      std::string write;
      bool opens = false;
      for (size_t more = 1 + below(2); more > 0; --more, ++frames) {
        const bool request = below(3) != 0;
        opens = opens || request;
        if (request) stream += 2;
        write += request ? headers_frame(stream, kFlagEndHeaders | kFlagEndStream)
                         : data_frame(1, "message");
      }
      const bool whole = joined, known = client.search.found();
      size_t at = joined ? 0 : below(static_cast<uint32_t>(write.size()));
      joined = true;
      uint64_t counted = 0;
      while (at < write.size()) {
        const std::string rest = write.substr(at);
        const bool placed = client.opens(rest);
        if (known && at == 0) {
          EXPECT_EQ(placed, opens) << "seed " << seed;
        }
        const size_t accepted = below(2) == 0 ? 1 : 1 + below(static_cast<uint32_t>(rest.size()));
        counted += client.sent(rest, accepted);
        at += accepted;
      }
      if (opens && whole) {
        EXPECT_GE(counted, 1u) << "seed " << seed << ": a request went unseen";
      }
      if (!opens && known) {
        EXPECT_EQ(counted, 0u) << "seed " << seed;
      }
    }
    EXPECT_TRUE(client.search.found()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace filibuster::http2
