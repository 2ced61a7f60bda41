#include "core/protocol/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<uint8_t> record_of(const TapeBytes& record) {
  uint8_t head[kTapeBytesHead];
  encode_head(record, head);
  std::vector<uint8_t> out(head, head + sizeof head);
  out.insert(out.end(), record.bytes.begin(), record.bytes.end());
  return out;
}
std::vector<uint8_t> record_of(const TapeDraw& record) {
  uint8_t head[kTapeDrawHead];
  encode_head(record, head);
  std::vector<uint8_t> out(head, head + sizeof head);
  out.insert(out.end(), record.site.begin(), record.site.end());
  out.insert(out.end(), record.bytes.begin(), record.bytes.end());
  return out;
}
template <typename Record>
std::vector<uint8_t> record_of(const Record& record) {
  std::vector<uint8_t> out(100);
  out.resize(encode(record, out.data(), out.size()));
  return out;
}

// What is left of the record when it is cut to `size` bytes is no record.
template <typename Record>
void is_refused_when_cut(const std::vector<uint8_t>& whole, size_t from) {
  for (size_t size = 0; size < from; ++size) {
    Record out;
    EXPECT_FALSE(decode(std::span(whole).first(size), &out)) << size;
  }
}

template <typename Record>
bool is_refused(const Record& record) {
  Record out;
  return !decode(record_of(record), &out);
}

TapeBytes some_bytes(std::string_view text) {
  TapeBytes record;
  record.connection = 7;
  record.position = 1u << 30;
  record.recording = 3;
  record.requests = 1;
  record.bytes = bytes_of(text);
  return record;
}

TEST(Tape, BytesComeBackAsTheyWere) {
  const std::vector<uint8_t> whole = record_of(some_bytes("hello"));
  TapeBytes out;
  ASSERT_TRUE(decode(whole, &out));
  EXPECT_EQ(out.connection, 7u);
  EXPECT_EQ(out.position, 1u << 30);
  EXPECT_EQ(out.recording, 3u);
  EXPECT_EQ(out.requests, 1);
  EXPECT_EQ(std::string(out.bytes.begin(), out.bytes.end()), "hello");
  is_refused_when_cut<TapeBytes>(whole, kTapeBytesHead + 1);
}

TEST(Tape, GapsAndEndsComeBackAsTheyWere) {
  const TapeGap gap{.connection = 7, .position = 90, .size = 40, .recording = 3, .reason = 7};
  TapeGap gap_again;
  ASSERT_TRUE(decode(record_of(gap), &gap_again));
  EXPECT_EQ(gap_again.position, 90u);
  EXPECT_EQ(gap_again.size, 40u);
  EXPECT_EQ(gap_again.reason, 7);
  is_refused_when_cut<TapeGap>(record_of(gap), record_of(gap).size());

  const TapeClosed closed{
      .connection = 7, .requests = 10, .answers = 20, .recording = 3, .error = 104, .by_peer = 1};
  TapeClosed closed_again;
  ASSERT_TRUE(decode(record_of(closed), &closed_again));
  EXPECT_EQ(closed_again.requests, 10u);
  EXPECT_EQ(closed_again.answers, 20u);
  EXPECT_EQ(closed_again.error, 104);
  EXPECT_EQ(closed_again.by_peer, 1);
  is_refused_when_cut<TapeClosed>(record_of(closed), record_of(closed).size());
}

TapeDraw some_draw(std::string_view site, std::string_view bytes) {
  TapeDraw record;
  record.rpc = 9;
  record.recording = 3;
  record.source = static_cast<uint8_t>(DrawSource::kPython);
  record.site_size = static_cast<uint16_t>(site.size());
  record.site = site;
  record.bytes = bytes_of(bytes);
  return record;
}

TEST(Tape, DrawsComeBackAsTheyWere) {
  const std::vector<uint8_t> whole = record_of(some_draw("shop.py:7 buy\n", "four"));
  TapeDraw out;
  ASSERT_TRUE(decode(whole, &out));
  EXPECT_EQ(out.rpc, 9u);
  EXPECT_EQ(out.recording, 3u);
  EXPECT_EQ(static_cast<DrawSource>(out.source), DrawSource::kPython);
  EXPECT_EQ(out.site, "shop.py:7 buy\n");
  EXPECT_EQ(std::string(out.bytes.begin(), out.bytes.end()), "four");
  is_refused_when_cut<TapeDraw>(whole, whole.size() - 3);
  ASSERT_TRUE(decode(record_of(some_draw("", "x")), &out));
  EXPECT_EQ(out.site, "");
}

TEST(Tape, DrawsThatCannotBeAreRefused) {
  TapeDraw draw = some_draw("", "x");
  draw.source = 0;
  EXPECT_TRUE(is_refused(draw)) << "of nobody";
  draw.source = static_cast<uint8_t>(kLastDrawSource) + 1;
  EXPECT_TRUE(is_refused(draw)) << "of somebody unknown";
  EXPECT_TRUE(is_refused(some_draw("shop.py:7 buy\n", ""))) << "no bytes";
  const std::string many(kMaxDrawBytes + 1, 'x');
  EXPECT_TRUE(is_refused(some_draw("", many))) << "more than a draw has";
  EXPECT_FALSE(is_refused(some_draw("", std::string_view(many).substr(1))));
  EXPECT_TRUE(is_refused(some_draw(std::string_view(many).substr(0, kMaxDrawSite + 1), "x")));
  EXPECT_FALSE(is_refused(some_draw(std::string_view(many).substr(0, kMaxDrawSite), "x")));
}

TEST(DrawSource, EachHasANameOfItsOwn) {
  for (uint8_t i = 1; i <= static_cast<uint8_t>(kLastDrawSource); ++i) {
    EXPECT_FALSE(draw_source_name(DrawSource{i}).empty());
    EXPECT_EQ(find_draw_source(draw_source_name(DrawSource{i})), DrawSource{i});
  }
  EXPECT_EQ(find_draw_source(""), DrawSource::kNone);
  EXPECT_EQ(find_draw_source("dice"), DrawSource::kNone);
}

TEST(Tape, WhatCannotBeTrueIsRefused) {
  TapeBytes bytes = some_bytes("x");
  bytes.requests = 2;
  EXPECT_TRUE(is_refused(bytes)) << "there are two directions";
  bytes = some_bytes("x");
  bytes.position = UINT64_MAX - 1;
  EXPECT_TRUE(is_refused(bytes)) << "a position that would overflow";
  bytes = some_bytes("");
  EXPECT_TRUE(is_refused(bytes)) << "no bytes";
  const std::string many(kMaxTapeBytes + 1, 'x');
  EXPECT_TRUE(is_refused(some_bytes(many))) << "more than a record has";
  EXPECT_FALSE(is_refused(some_bytes(std::string_view(many).substr(1))));

  EXPECT_TRUE(is_refused(TapeGap{.position = 3, .size = 4})) << "it begins before the connection";
  EXPECT_TRUE(is_refused(TapeGap{.position = 3, .requests = 2}));
  EXPECT_TRUE(is_refused(TapeGap{.position = 3, .reason = 200}));
  EXPECT_TRUE(is_refused(TapeClosed{.requests = UINT64_MAX}));
  EXPECT_TRUE(is_refused(TapeClosed{.by_peer = 2}));
}

// The ring of a tape is that of events, but for its size.
TEST(Tape, ItsRingGoesOnBehindItsEndAndCountsWhatDidNotFit) {
  const auto tape = std::make_unique<TapeMemory>();
  const std::string text(kMaxTapeBytes, 'x');
  const auto write = [&](uint64_t position) {
    TapeBytes record = some_bytes(text);
    record.position = position;
    uint8_t head[kTapeBytesHead];
    encode_head(record, head);
    const std::span<const uint8_t> parts[] = {head, record.bytes};
    return ring_write(tape.get(), static_cast<uint16_t>(TapeType::kBytes), 1, 2, parts);
  };
  const auto read = [&] {
    RecordView view;
    if (!ring_peek(tape.get(), &view)) return UINT64_MAX;
    TapeBytes record;
    EXPECT_TRUE(decode(view.payload, &record));
    const uint64_t position = record.position;
    EXPECT_TRUE(std::all_of(record.bytes.begin(), record.bytes.end(),
                            [](uint8_t byte) { return byte == 'x'; }));
    ring_pop(tape.get());
    return position;
  };
  // Three times round, with one record in it.
  const uint64_t rounds = 3 * kTapeBytes / kMaxTapeBytes;
  for (uint64_t i = 0; i < rounds; ++i) {
    ASSERT_TRUE(write(i));
    ASSERT_EQ(read(), i);
  }
  uint64_t fit = 0;
  while (write(fit)) ++fit;
  EXPECT_GE(fit, kTapeBytes / kMaxTapeBytes - 2);
  EXPECT_EQ(tape->dropped.load(), 1u);
  for (uint64_t i = 0; i < fit; ++i) ASSERT_EQ(read(), i);
  EXPECT_EQ(read(), UINT64_MAX);
  EXPECT_EQ(ring_backlog(tape.get()), 0u);
  EXPECT_TRUE(write(0));
}

}  // namespace
}  // namespace filibuster
