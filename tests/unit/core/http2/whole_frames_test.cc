#include "core/http2/whole_frames.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

using enum FrameType;

// Pieces of exactly their size, and what was given after each of them.
struct Cutter {
  std::unique_ptr<WholeFrames> frames = std::make_unique<WholeFrames>();
  std::string given;

  void feed(std::string_view piece) {
    const std::vector<char> copy(piece.begin(), piece.end());
    frames->feed(copy.data(), copy.size(),
                 [this](const char* data, size_t size) { given.append(data, size); });
  }
};

// Of a stream of frames: whether its reader may have exactly this much of it.
bool may_be_given(const std::vector<std::string>& units, size_t size) {
  for (const std::string& unit : units) {
    if (size == 0) return true;
    const bool data = read_frame_header(unit.data()).type == kData;
    if (size < unit.size()) return data && size >= kFrameHeaderSize;
    size -= unit.size();
  }
  return size == 0;
}

TEST(WholeFrames, OnlyDataIsGivenInParts) {
  const std::vector<std::string> units = {
      settings(setting(4, 70000)),
      settings_ack(),
      frame(kHeaders, kFlagEndHeaders, 1, "block"),
      frame(kData, 0, 1, "some data"),
      frame(kData, 0, 1, {}),
      // One block.
      frame(kHeaders, kFlagEndStream, 3, "be") + frame(kContinuation, 0, 3, {}) +
          frame(kContinuation, kFlagEndHeaders, 3, "gun"),
      frame(kRstStream, 0, 1, "1234"),
      frame(static_cast<FrameType>(77), 0xff, 0, "unknown"),
      ping(),
      frame(kData, kFlagEndStream, 5, "more"),
      frame(kPushPromise, 0, 5, "abcd") + frame(kContinuation, kFlagEndHeaders, 5, "x"),
  };
  std::string all;
  for (const std::string& unit : units) all += unit;
  for_every_split(all, [&](const Parts& pieces) {
    Cutter c;
    size_t fed = 0;
    for (const std::string_view piece : pieces) {
      c.feed(piece);
      fed += piece.size();
      ASSERT_EQ(c.given + std::string(c.frames->kept()), all.substr(0, fed));
      ASSERT_TRUE(may_be_given(units, c.given.size())) << c.given.size();
      // No more is kept than has to be.
      size_t whole = 0;
      for (size_t n = fed; n > 0 && whole == 0; --n) whole = may_be_given(units, n) ? n : 0;
      ASSERT_EQ(c.given.size(), whole);
    }
    ASSERT_EQ(c.given, all);
  });
}

TEST(WholeFrames, WhatIsTooLargeIsGivenAsItComes) {
  const std::string large = frame(kHeaders, kFlagEndHeaders, 1, std::string(16 * 1024, 'h'));
  for (const size_t piece : {size_t{1}, size_t{8}, size_t{1000}, large.size() - 1}) {
    Cutter c;
    for (size_t at = 0; at < large.size(); at += piece) {
      c.feed(std::string_view(large).substr(at, piece));
    }
    c.feed(ping().substr(0, 3));
    EXPECT_EQ(c.given + std::string(c.frames->kept()), large + ping().substr(0, 3)) << piece;
  }
  // Many small ones are as much.
  Cutter c;
  std::string all = frame(kHeaders, 0, 1, "begin");
  for (int i = 0; i < 3000; ++i) all += frame(kContinuation, 0, 1, "c");
  for (size_t at = 0; at < all.size(); at += 7) c.feed(std::string_view(all).substr(at, 7));
  EXPECT_EQ(c.given, all);
  EXPECT_LE(c.frames->kept().size(), WholeFrames::kMostKept);
}

TEST(WholeFrames, OnlyDataMayGoByUnseen) {
  Cutter c;
  c.feed(frame(kData, 0, 1, "0123456789").substr(0, 12));
  EXPECT_FALSE(c.frames->skip(8));
  EXPECT_TRUE(c.frames->skip(7));
  c.feed(ping().substr(0, 10));
  EXPECT_EQ(c.frames->kept(), ping().substr(0, 10));
  EXPECT_FALSE(c.frames->skip(1));
}

}  // namespace
}  // namespace filibuster::http2
