#include "core/http2/insertion.h"

#include <gtest/gtest.h>

#include "preload/stream/edited_stream.h"
#include "tests/unit/core/http2/connection_trace.h"
#include "tests/unit/core/http2/edited_connection.h"
#include "tests/unit/core/http2/frame_trace.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

using enum FrameType;

constexpr uint8_t kEndsHead = kFlagEndHeaders;

const FieldList kCall = {{":method", "POST"},
                         {":scheme", "http"},
                         {":path", "/shop.Cart/Get"},
                         {":authority", "cart:50051"},
                         {"x-custom", "indexed by the client"}};
FieldList with_ours(FieldList fields) {
  fields.emplace_back(std::string(kHeaderName), std::string(kOurValue));
  return fields;
}

// The wire that our edits make of `bytes`, fed to the view in `pieces`; and what a server reads.
struct Result {
  std::string wire;
  std::vector<FieldList> lists;
  bool accepted;
};
Result run(const Parts& pieces, std::string_view server_frames = {},
           uint32_t max_frame_size = kDefaultMaxFrameSize) {
  EditedConnection edited;
  ReferenceServer server(max_frame_size);
  edited.received(server_frames.empty() ? std::string_view(server.sent()) : server_frames);
  for (std::string_view piece : pieces) edited.send(piece);
  edited.flush();
  Result r;
  r.wire = edited.wire;
  r.accepted = server.receive(edited.wire);
  r.lists = server.lists;
  return r;
}

TEST(Insertion, TheServerReadsTheFieldLastAndTheTablesStayInStep) {
  Encoder client;
  const std::string bytes = join(
      {client_start(), frame(kHeaders, kEndsHead, 1, client.block(kCall)),
       frame(kData, 1, 1, "question"), frame(kHeaders, kEndsHead | 1, 3, client.block(kCall))});
  const Result r = run({bytes});
  EXPECT_TRUE(r.accepted);
  EXPECT_EQ(r.lists, (std::vector<FieldList>{with_ours(kCall), with_ours(kCall)}));
  EXPECT_EQ(r.wire.size(), bytes.size() + 2 * literal_size(kHeaderName, kOurValue));
}

TEST(Insertion, PaddingStaysBehindTheField) {
  Encoder client;
  const std::string bytes =
      join({client_start(),
            frame(kHeaders, kEndsHead | kFlagPadded | kFlagPriority, 1,
                  padded(u32(0) + "\x10" + client.block(kCall), 20)),
            frame(kHeaders, kEndsHead | kFlagPadded, 3, padded(client.block(kCall), 0))});
  const Result r = run({bytes});
  EXPECT_TRUE(r.accepted);
  EXPECT_EQ(r.lists, (std::vector<FieldList>{with_ours(kCall), with_ours(kCall)}));
}

TEST(Insertion, ABlockOfSeveralFramesGrowsInItsLast) {
  Encoder client;
  const std::string block = client.block(kCall);
  const std::string bytes = client_start() + frame(kHeaders, 0, 1, block.substr(0, 3)) +
                            frame(kContinuation, 0, 1, block.substr(3, 5)) +
                            frame(kContinuation, 0, 1, "") +
                            frame(kContinuation, kEndsHead, 1, block.substr(8));
  const Result r = run({bytes});
  EXPECT_TRUE(r.accepted);
  EXPECT_EQ(r.lists, (std::vector<FieldList>{with_ours(kCall)}));
}

TEST(Insertion, AFullFrameIsFollowedByAContinuation) {
  const size_t ours = literal_size(kHeaderName, kOurValue);
  for (size_t left : {size_t{0}, size_t{1}, ours - 1, ours, ours + 1}) {
    for (bool with_padding : {false, true}) {
      Encoder client;
      FieldList fields = kCall;
      fields.emplace_back("x-large", "");
      // Codes of 8 bits ('&'): as long as without the Huffman code, so that sizes are easily made.
      std::string block;
      const size_t target = kDefaultMaxFrameSize - left - (with_padding ? 11 : 0);
      for (size_t size = 16000; size <= 16384 && block.size() != target; ++size) {
        Encoder fresh;
        fields.back().second.assign(size, '&');
        block = fresh.block(fields);
      }
      ASSERT_EQ(block.size(), target);
      const std::string bytes =
          client_start() + (with_padding
                                ? frame(kHeaders, kEndsHead | kFlagPadded, 1, padded(block, 10))
                                : frame(kHeaders, kEndsHead, 1, block));
      const Result r = run({bytes});
      EXPECT_TRUE(r.accepted) << left;
      EXPECT_EQ(r.lists, (std::vector<FieldList>{with_ours(fields)}));
      EXPECT_EQ(r.wire.size(), bytes.size() + ours + (left < ours ? kFrameHeaderSize : 0)) << left;
      // A server that allows longer frames gets one.
      EXPECT_EQ(run({bytes}, settings(setting(5, 20000)), 20000).wire.size(), bytes.size() + ours);
    }
  }
}

TEST(Insertion, TrailersAreLeftAlone) {
  Encoder client;
  const std::string bytes = join(
      {client_start(), frame(kHeaders, kEndsHead, 1, client.block(kCall)), frame(kData, 0, 1, "x"),
       frame(kHeaders, kEndsHead | 1, 1, client.block({{"checksum", "1"}}))});
  EXPECT_EQ(run({bytes}).lists, (std::vector<FieldList>{with_ours(kCall), {{"checksum", "1"}}}));
}

TEST(Insertion, NotIntoAListThatWouldGetTooLong) {
  Encoder client;
  const std::string bytes =
      join({client_start(), frame(kHeaders, kEndsHead, 1, client.block(kCall))});
  uint32_t size = 0;
  for (const auto& [name, value] : with_ours(kCall)) {
    size += static_cast<uint32_t>(name.size() + value.size() + 32);
  }
  EXPECT_EQ(run({bytes}, settings(setting(6, size))).lists[0], with_ours(kCall));
  EXPECT_EQ(run({bytes}, settings(setting(6, size - 1))).wire, bytes);
  Insertion plan;
  EXPECT_FALSE(plan_insertion({}, 0, {}, "name", std::string(200, 'v'), &plan));
}

TEST(Insertion, EverySplitGivesTheSameWire) {
  Encoder client;
  const std::string block = client.block(kCall);
  const std::string bytes =
      join({client_start(), frame(kHeaders, 0, 1, block.substr(0, 4)),
            frame(kContinuation, kEndsHead, 1, block.substr(4)), frame(kData, 0, 1, "body"),
            frame(kHeaders, kEndsHead | kFlagPadded, 3, padded(client.block(kCall), 4)), ping()});
  const std::string whole = run({bytes}).wire;
  EXPECT_EQ(whole.size(), bytes.size() + 2 * literal_size(kHeaderName, kOurValue));
  for_every_split(bytes, [&](const Parts& pieces) { ASSERT_EQ(run(pieces).wire, whole); });
}

// --- a direction that is written anew ------------------------------------------------------------

TEST(Rewriting, ASwallowedRequestLeavesTheOthersReadable) {
  Encoder client;
  std::vector<std::string> blocks;
  for (int i = 0; i < 4; ++i) {
    FieldList fields = kCall;
    fields.emplace_back("x-number", std::to_string(i / 2));
    blocks.push_back(client.block(fields));
  }
  // 1 goes as it is, 3 is swallowed (its fields enter the client's table), 5 and 7 are rewritten.
  ReferenceServer server;
  std::string wire = client_start() + frame(kHeaders, kEndsHead, 1, blocks[0]);
  char memory[8192], out_memory[8192];
  Output out(out_memory, sizeof out_memory);
  BlockRewriter rewriter(memory, sizeof memory);
  ConnectionTracer t;
  t.keep_fields = true;
  t.requests(wire);
  t.requests(frame(kHeaders, kEndsHead, 3, blocks[1]));
  for (uint32_t i : {2u, 3u}) {
    t.fields[0].clear();
    t.requests(
        frame(kHeaders, kEndsHead | kFlagPriority | 1, 1 + 2 * i, u32(0) + "\x10" + blocks[i]));
    rewriter.begin();
    EXPECT_EQ(rewriter.began(), i == 3);
    for (const auto& [name, value] : t.fields[0]) rewriter.add({name, value, false});
    rewriter.add({kHeaderName, kOurValue, false});
    ASSERT_TRUE(rewriter.write(t.last_block, kDefaultMaxFrameSize, out));
  }
  EXPECT_TRUE(server.receive(wire));
  EXPECT_TRUE(server.receive(out.view()));
  FieldList expected = kCall;
  expected.emplace_back("x-number", "1");
  ASSERT_EQ(server.lists.size(), 3u);
  EXPECT_EQ(server.lists[1], with_ours(expected));
  EXPECT_EQ(server.lists[2], with_ours(expected));
  EXPECT_EQ(server.lines.back(), "end 7");
}

TEST(Rewriting, LongBlocksAreWrittenInSeveralFrames) {
  HeaderBlock original;
  original.stream = 1;
  std::vector<char> memory(60000), wire(70000);
  for (size_t size : {100, 16300, 16384, 16385, 40000, 59000}) {
    BlockRewriter rewriter(memory.data(), memory.size());
    Output out(wire.data(), wire.size());
    rewriter.begin();
    for (const auto& [name, value] : kCall) rewriter.add({name, value, false});
    rewriter.add({"x-large", std::string(size, 'v'), false});
    ASSERT_TRUE(rewriter.write(original, kDefaultMaxFrameSize, out)) << size;
    FrameTracer frames(Direction::kRequests);
    EXPECT_EQ(frames.feed(client_start()), Error::kNone);
    EXPECT_EQ(frames.feed(out.view()), Error::kNone);
    ASSERT_EQ(frames.blocks.size(), 1u);
    ReferenceServer server;
    EXPECT_TRUE(server.receive(client_start() + std::string(out.view())));
    ASSERT_EQ(server.lists.size(), 1u);
    EXPECT_EQ(server.lists[0].back().second.size(), size);
  }
  BlockRewriter small(memory.data(), 50);
  Output out(wire.data(), wire.size());
  small.begin();
  small.add({"x-large", std::string(100, 'v'), false});
  EXPECT_FALSE(small.write(original, kDefaultMaxFrameSize, out));
  EXPECT_EQ(out.size(), 0u);
  EXPECT_FALSE(small.began());
}

}  // namespace
}  // namespace filibuster::http2
