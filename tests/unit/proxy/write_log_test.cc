#include "daemon/proxy/write_log.h"

#include <gtest/gtest.h>

#include <random>

namespace filibuster::proxy {
namespace {

Writer writer(uint64_t thread, uint32_t stack = 1) {
  return {true, {7, false, thread}, stack};
}

std::vector<std::pair<size_t, uint64_t>> sizes_and_threads(
    const std::vector<WriteLog::Piece>& pieces) {
  std::vector<std::pair<size_t, uint64_t>> out;
  for (const WriteLog::Piece& piece : pieces)
    out.emplace_back(piece.size, piece.writer.known ? piece.writer.task.number : 0);
  return out;
}

using Pieces = std::vector<std::pair<size_t, uint64_t>>;

TEST(WriteLog, BytesOfTwoCallsThatWereReadAtOnceAreTwoPieces) {
  WriteLog log;
  log.add(0, 10, writer(1));
  log.add(10, 5, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 15)), (Pieces{{10, 1}, {5, 2}}));
  EXPECT_EQ(log.size(), 0u);
}

TEST(WriteLog, NeighboursOfOneWriterAreOnePiece) {
  WriteLog log;
  log.add(0, 10, writer(1));
  log.add(10, 5, writer(1));
  log.add(15, 5, writer(1, 2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 20)), (Pieces{{15, 1}, {5, 1}}));
}

TEST(WriteLog, TwoRequestsOfOneGoroutineAreTwoPieces) {
  WriteLog log;
  Writer first = writer(1), second = writer(1);
  first.call = 100;
  second.call = 101;
  log.add(0, 10, first);
  log.add(10, 5, second);
  EXPECT_EQ(log.take(0, 15).size(), 2u);
}

TEST(WriteLog, ACallWhoseBytesComeInPartsHasAllOfThem) {
  WriteLog log;
  log.add(0, 10, writer(1));
  EXPECT_EQ(sizes_and_threads(log.take(0, 4)), (Pieces{{4, 1}}));
  log.add(10, 3, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(4, 8)), (Pieces{{6, 1}, {2, 2}}));
  EXPECT_EQ(sizes_and_threads(log.take(12, 1)), (Pieces{{1, 2}}));
}

TEST(WriteLog, AfterAShortWriteTheNextCallHasTheRest) {
  WriteLog log;
  log.add(0, 100, writer(1));  // of which the kernel took 40
  log.add(40, 60, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 100)), (Pieces{{40, 1}, {60, 2}}));
}

TEST(WriteLog, OfCallsAtTheSamePositionTheLastOneWrote) {
  WriteLog log;
  log.add(0, 10, writer(1));  // of which the kernel took nothing
  log.add(0, 10, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 10)), (Pieces{{10, 2}}));
}

TEST(WriteLog, BytesThatNoCallReachesHaveNoWriter) {
  WriteLog log;
  log.add(0, 4, writer(1));
  log.add(8, 4, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 12)), (Pieces{{4, 1}, {4, 0}, {4, 2}}));
  EXPECT_EQ(sizes_and_threads(log.take(12, 3)), (Pieces{{3, 0}}));
}

TEST(WriteLog, ACallOfUnknownSizeReachesToTheNextOne) {
  WriteLog log;
  log.add(0, 0, writer(1));
  log.add(8, 2, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(0, 10)), (Pieces{{8, 1}, {2, 2}}));
}

TEST(WriteLog, PositionsWrap) {
  WriteLog log;
  const uint32_t begin = 0xfffffff8u;
  log.add(begin, 16, writer(1));
  log.add(8, 8, writer(2));
  EXPECT_EQ(sizes_and_threads(log.take(begin, 24)), (Pieces{{16, 1}, {8, 2}}));
}

TEST(WriteLog, EventsThatComeOutOfOrderAreSorted) {
  WriteLog log;
  log.add(10, 5, writer(2));
  log.add(0, 10, writer(1));
  EXPECT_EQ(sizes_and_threads(log.take(0, 15)), (Pieces{{10, 1}, {5, 2}}));
}

TEST(WriteLog, WhatIsNotReadYetIsBounded) {
  WriteLog log;
  for (uint32_t i = 0; i < 2 * WriteLog::kMost; ++i) log.add(i, 1, writer(1 + i));
  EXPECT_EQ(log.size(), WriteLog::kMost);
  const auto pieces = log.take(0, 2 * WriteLog::kMost);
  size_t total = 0;
  for (const auto& piece : pieces) total += piece.size;
  EXPECT_EQ(total, 2 * WriteLog::kMost);
  EXPECT_FALSE(pieces.back().writer.known);
}

// Against the plain definition, with calls and reads of random sizes.
TEST(WriteLog, EachByteHasTheWriterOfItsCall) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    WriteLog log;
    const uint32_t start = below(2) == 0 ? 0 : 0xffffff00u;
    std::vector<uint64_t> expected;  // the thread of each byte
    std::vector<std::pair<uint32_t, uint32_t>> calls;
    while (expected.size() < 600) {
      const uint32_t size = 1 + below(40), taken = 1 + below(size);
      const uint64_t thread = 1 + below(3);
      log.add(start + static_cast<uint32_t>(expected.size()), size, writer(thread));
      expected.insert(expected.end(), taken, thread);
    }
    for (size_t at = 0; at < expected.size();) {
      const size_t size = std::min<size_t>(1 + below(100), expected.size() - at);
      std::vector<uint64_t> got;
      for (const auto& piece : log.take(start + static_cast<uint32_t>(at), size))
        got.insert(got.end(), piece.size, piece.writer.task.number);
      ASSERT_EQ(got, std::vector<uint64_t>(expected.begin() + static_cast<long>(at),
                                           expected.begin() + static_cast<long>(at + size)));
      at += size;
    }
  }
}

}  // namespace
}  // namespace filibuster::proxy
