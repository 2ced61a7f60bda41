#include "preload/stream/edited_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace filibuster::preload {
namespace {

// With the memory that the library gives a stream while it has edits.
struct StreamWithRoom : EditedStream {
  StreamWithRoom() { use(room); }
  EditRoom room;
};

const std::string kLine = "x-filibuster: 1-0000004d-0000\r\n";

std::string get(int n) {
  return "GET /" + std::to_string(n) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

size_t after_line(const std::string& text) {
  return text.find('\n') + 1;
}

// A socket that takes `budget` bytes of what is offered.
size_t take(const iovec* pieces, size_t count, size_t budget, std::string* wire) {
  size_t taken = 0;
  for (size_t i = 0; i < count && taken < budget; ++i) {
    const size_t n = std::min(budget - taken, pieces[i].iov_len);
    wire->append(static_cast<const char*>(pieces[i].iov_base), n);
    taken += n;
  }
  return taken;
}

// Cuts `text` into pieces at `cuts`.
std::vector<iovec> cut(const std::string& text, std::vector<size_t> cuts) {
  std::vector<iovec> pieces;
  size_t from = 0;
  cuts.push_back(text.size());
  for (const size_t to : cuts) {
    pieces.push_back({const_cast<char*>(text.data()) + from, to - from});
    from = to;
  }
  return pieces;
}

// Sends all of `text` through sends of at most `step(i)` wire bytes; the wire. Checks every report.
template <typename Step>
std::string send_all(EditedStream& stream, const std::string& text, size_t split, size_t capacity,
                     Step step) {
  std::string wire;
  size_t reported = 0;
  for (int i = 0; stream.position() < text.size(); ++i) {
    // The application comes back with what is left, in two pieces.
    const std::string left = text.substr(reported);
    const std::vector<iovec> pieces =
        split > reported ? cut(left, {split - reported}) : cut(left, {});
    OnTheWire out;
    out.room = capacity;
    stream.layout({pieces.data(), pieces.size()}, reported, stream.position(), text.size(), &out);
    EXPECT_GT(out.bytes, 0u);
    const size_t sent = take(out.vectors, out.count, step(i), &wire);
    const uint64_t ours_not_counted = stream.advance(sent);
    reported += ours_not_counted;
    EXPECT_EQ(reported, stream.position());
    if (i > 10000) {
      ADD_FAILURE() << "no progress";
      break;
    }
  }
  return wire;
}

TEST(Insertion, EverySplitAndEveryStepGivesTheApplicationsBytesAndOneHeader) {
  const std::string text = get(1);
  std::string expected = text;
  expected.insert(after_line(text), kLine);
  for (size_t split = 0; split <= text.size(); ++split) {
    for (size_t step = 1; step <= expected.size(); ++step) {
      StreamWithRoom stream;
      ASSERT_TRUE(stream.insert(after_line(text), kLine));
      EXPECT_EQ(send_all(stream, text, split, 8, [&](int) { return step; }), expected);
      EXPECT_FALSE(stream.has_edits());
    }
  }
}

TEST(Insertion, PipelinedRequestsGetOneHeaderEachUnderAnyShortWrites) {
  std::string text, expected;
  std::vector<size_t> at;
  for (int i = 0; i < 5; ++i) {
    const std::string request = get(i * 1000);
    at.push_back(text.size() + after_line(request));
    text += request;
    std::string marked = request;
    marked.insert(after_line(request), kLine);
    expected += marked;
  }
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    StreamWithRoom stream;
    for (const size_t position : at) ASSERT_TRUE(stream.insert(position, kLine));
    const size_t split = random() % (text.size() + 1);
    // A small capacity cuts the layout: it is a short write like any other.
    EXPECT_EQ(
        send_all(stream, text, split, 1 + random() % 12, [&](int) { return 1 + random() % 60; }),
        expected);
  }
}

TEST(Insertion, AReplacementKeepsEveryPositionAndCountsAsTheApplications) {
  const std::string text = "GET / HTTP/1.1\r\nx-filibuster: AAAAAAAA\r\nHost: a\r\n\r\n";
  const size_t at = text.find('A');
  std::string expected = text;
  expected.replace(at, 8, "bbbbbbbb");
  for (size_t split = 0; split <= text.size(); ++split) {
    for (size_t step = 1; step <= text.size(); ++step) {
      StreamWithRoom stream;
      ASSERT_TRUE(stream.replace(at, "bbbbbbbb"));
      EXPECT_EQ(send_all(stream, text, split, 8, [&](int) { return step; }), expected);
    }
  }
}

TEST(Insertion, InsertionsAndReplacementsMix) {
  const std::string one = get(1), two = "GET / HTTP/1.1\r\nx-filibuster: AAAAAAAA\r\n\r\n";
  const std::string text = one + two + one;
  std::string marked = one;
  marked.insert(after_line(one), kLine);
  std::string replaced = two;
  replaced.replace(two.find('A'), 8, "cccccccc");
  for (size_t step = 1; step < 40; ++step) {
    StreamWithRoom stream;
    ASSERT_TRUE(stream.insert(after_line(one), kLine));
    ASSERT_TRUE(stream.replace(one.size() + two.find('A'), "cccccccc"));
    ASSERT_TRUE(stream.insert(one.size() + two.size() + after_line(one), kLine));
    EXPECT_EQ(send_all(stream, text, 20, 8, [&](int) { return step; }), marked + replaced + marked);
  }
}

TEST(Insertion, BytesThatAreOnlyOursAreNeverReported) {
  const std::string text = get(1);
  StreamWithRoom stream;
  ASSERT_TRUE(stream.insert(after_line(text), kLine));
  EXPECT_EQ(stream.advance(after_line(text)), after_line(text));
  EXPECT_EQ(stream.advance(5), 0u);
  EXPECT_EQ(stream.advance(kLine.size() - 5), 0u);
  EXPECT_FALSE(stream.has_edits());
  EXPECT_EQ(stream.advance(3), 3u);
}

TEST(Insertion, AnInsertionAtTheLimitWaitsForTheByteAfterIt) {
  const std::string text = get(1);
  StreamWithRoom stream;
  ASSERT_TRUE(stream.insert(after_line(text), kLine));
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  OnTheWire out;
  stream.layout(piece, 0, 0, after_line(text), &out);
  EXPECT_EQ(out.count, 1u);
  EXPECT_EQ(out.bytes, after_line(text));
}

TEST(Insertion, LaterPiecesAreLaidOutFromWhereTheHeldOnesEnd) {
  const std::string held = "GET / HTTP/1.1\r\nA: ", rest = "b\r\n\r\n";
  StreamWithRoom stream;
  ASSERT_TRUE(stream.insert(after_line(held), kLine));
  const iovec first{const_cast<char*>(held.data()), held.size()};
  const iovec second{const_cast<char*>(rest.data()), rest.size()};
  OnTheWire out;
  stream.layout(first, 0, 0, held.size(), &out);
  stream.layout(second, held.size(), held.size(), held.size() + rest.size(), &out);
  std::string wire, expected = held + rest;
  take(out.vectors, out.count, out.bytes, &wire);
  expected.insert(after_line(held), kLine);
  EXPECT_EQ(wire, expected);
  EXPECT_EQ(stream.advance(out.bytes), held.size() + rest.size());
}

TEST(Insertion, EditsThatNeverHappenedAreForgottenButNotOneThatHasBegun) {
  StreamWithRoom stream;
  ASSERT_TRUE(stream.insert(10, kLine));
  ASSERT_TRUE(stream.insert(50, kLine));
  stream.advance(12);  // two bytes of the first one
  stream.drop_from(10);
  EXPECT_TRUE(stream.has_edits());
  EXPECT_EQ(stream.advance(kLine.size() - 2 + 40), 40u);
  EXPECT_EQ(stream.advance(30), 30u);
}

TEST(Insertion, RefusesWhatItCannotKeep) {
  StreamWithRoom stream;
  EXPECT_FALSE(stream.insert(0, ""));
  EXPECT_FALSE(stream.insert(0, std::string(64 * 1024, 'x')));
  ASSERT_TRUE(stream.replace(10, "1234"));
  EXPECT_FALSE(stream.insert(12, kLine)) << "inside a replacement";
  EXPECT_FALSE(stream.insert(9, kLine)) << "before an earlier edit";
  for (size_t i = 1; i < 16; ++i) ASSERT_TRUE(stream.insert(100 * i, kLine));
  EXPECT_FALSE(stream.insert(100'000, kLine));
  stream.advance(20);
  EXPECT_FALSE(stream.insert(5, kLine)) << "on the wire already";
}

// What HTTP/2 does: a length is overwritten, a field goes out with the byte before it, a block is
// exchanged for a longer one.
TEST(Insertion, AnExchangeOfAnySizeGoesOutWholeUnderEverySplitAndStep) {
  const std::string text = "frame:len:block-and-its-end|next";
  struct Case {
    size_t at, remove;
    std::string bytes;
  };
  const std::vector<std::vector<Case>> cases = {
      {{6, 3, "LEN"}, {26, 1, "d, and a field of ours"}},
      {{0, 27, "order|something much longer than what stood there before it|"}},
      {{10, 17, "short"}},
      {{10, 5, "x"}, {31, 1, "t and more"}},
  };
  for (const std::vector<Case>& edits : cases) {
    std::string expected = text;
    for (auto e = edits.rbegin(); e != edits.rend(); ++e)
      expected.replace(e->at, e->remove, e->bytes);
    for (size_t split = 0; split <= text.size(); ++split) {
      for (size_t step = 1; step <= expected.size(); ++step) {
        StreamWithRoom stream;
        for (const Case& e : edits) ASSERT_TRUE(stream.splice(e.at, e.remove, e.bytes));
        EXPECT_EQ(send_all(stream, text, split, 8, [&](int) { return step; }), expected);
        EXPECT_FALSE(stream.has_edits());
      }
    }
  }
}

TEST(Insertion, TheByteBeforeAnInsertionIsReportedOnlyWithAllOfIt) {
  const std::string text = "abc";
  StreamWithRoom stream;
  ASSERT_TRUE(stream.splice(2, 1, "c-ours"));
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  OnTheWire out;
  stream.layout(piece, 0, 0, 3, &out);
  EXPECT_EQ(out.count, 2u);
  EXPECT_EQ(out.bytes, 8u);
  EXPECT_EQ(stream.advance(7), 2u) << "its last byte is missing";
  OnTheWire rest;
  stream.layout(piece, 0, 2, 3, &rest);
  EXPECT_EQ(rest.count, 1u);
  EXPECT_EQ(rest.bytes, 1u);
  EXPECT_EQ(stream.advance(1), 1u);
  EXPECT_EQ(stream.position(), 3u);
}

TEST(Insertion, LargerRoomIsUsedAndMoreEditsFitWhenTheOldOnesAreOut) {
  EditedStream::Edit edits[4];
  char bytes[64];
  EditedStream stream;
  EXPECT_FALSE(stream.insert(0, "x")) << "no room";
  stream.use(edits, 4, bytes, sizeof bytes);
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(stream.insert(10 * i, "0123456789"));
  EXPECT_FALSE(stream.insert(50, "x")) << "four edits";
  stream.advance(20);
  EXPECT_TRUE(stream.insert(50, "x")) << "the first is out";
  EXPECT_FALSE(stream.insert(60, std::string(40, 'y'))) << "64 bytes";
  stream.advance(50 + 31);
  EXPECT_FALSE(stream.has_edits());
  EXPECT_TRUE(stream.insert(100, std::string(64, 'y')));
}

}  // namespace
}  // namespace filibuster::preload
