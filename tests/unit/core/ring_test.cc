#include "core/protocol/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace filibuster {
namespace {

class Ring : public testing::Test {
 protected:
  bool write(std::string_view a, std::string_view b = "", uint16_t type = 1) {
    const auto bytes = [](std::string_view s) {
      return std::span(reinterpret_cast<const uint8_t*>(s.data()), s.size());
    };
    const std::span<const uint8_t> parts[] = {bytes(a), bytes(b)};
    return ring_write(ring(), type, 7, 99, parts);
  }
  // The payload of the next record, popped; "-" if there is none.
  std::string read() {
    RecordView view;
    if (!ring_peek(ring(), &view)) return "-";
    std::string text(view.payload.begin(), view.payload.end());
    ring_pop(ring());
    return text;
  }
  RecordHeader* at(uint64_t position) {
    return reinterpret_cast<RecordHeader*>(ring()->data + position % kRingBytes);
  }
  // Moves the empty ring on, so that the next record begins `room` bytes before the end of the
  // data.
  void leave_room(uint64_t room) { ring()->head = ring()->tail = kRingBytes - room; }
  RingMemory* ring() { return memory_.get(); }

 private:
  std::unique_ptr<RingMemory> memory_ = std::make_unique<RingMemory>();
};

TEST_F(Ring, GivesRecordsInTheOrderOfTheirReservation) {
  EXPECT_EQ(ring_peek(ring()), nullptr);
  ASSERT_TRUE(write("hello ", "world"));
  ASSERT_TRUE(write("second", "", 2));
  RecordView view;
  ASSERT_TRUE(ring_peek(ring(), &view));
  EXPECT_EQ(view.type, 1);
  EXPECT_EQ(view.execution, 7u);
  EXPECT_EQ(view.time_ns, 99u);
  const RecordHeader* header = ring_peek(ring());
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->type, 1);
  EXPECT_EQ(header->payload, 11u);
  EXPECT_EQ(header->size.load() % 8, 0u);
  EXPECT_EQ(read(), "hello world");
  EXPECT_EQ(read(), "second");
  EXPECT_EQ(read(), "-");
  EXPECT_EQ(ring_backlog(ring()), 0u);
  EXPECT_EQ(ring()->dropped.load(), 0u);
}

TEST_F(Ring, ARecordMayBeEmpty) {
  ASSERT_TRUE(ring_write(ring(), 3, 0, 0, {}));
  EXPECT_EQ(ring_backlog(ring()), sizeof(RecordHeader));
  EXPECT_EQ(read(), "");
}

TEST_F(Ring, PopWithoutARecordDoesNothing) {
  ring_pop(ring());
  EXPECT_EQ(ring()->tail.load(), 0u);
  EXPECT_EQ(ring()->corrupted.load(), 0u);
}

TEST_F(Ring, FullDropsAndCountsAndGoesOnAfterwards) {
  const std::string payload(1000, 'x');  // 1024 bytes a record
  for (uint32_t i = 0; i < kRingBytes / 1024; ++i) ASSERT_TRUE(write(payload));
  EXPECT_FALSE(write(payload));
  EXPECT_FALSE(write(""));
  EXPECT_EQ(ring()->dropped.load(), 2u);
  EXPECT_EQ(ring_backlog(ring()), kRingBytes);
  EXPECT_EQ(read(), payload);
  EXPECT_TRUE(write(payload));
  EXPECT_FALSE(write(payload));
  for (uint32_t i = 0; i < kRingBytes / 1024; ++i) EXPECT_EQ(read(), payload);
  EXPECT_EQ(read(), "-");
  EXPECT_EQ(ring()->dropped.load(), 3u);
}

TEST_F(Ring, WhatCanNeverFitIsDropped) {
  const std::string most(kRingBytes - sizeof(RecordHeader), 'm');
  EXPECT_FALSE(write(most, "x"));
  EXPECT_FALSE(write(most + most));
  EXPECT_EQ(ring()->dropped.load(), 2u);
  EXPECT_TRUE(write(most));
  EXPECT_EQ(read(), most);
}

TEST_F(Ring, WrapsAtEveryPossibleRest) {
  for (uint64_t room = 8; room <= 128; room += 8) {
    leave_room(room);
    ASSERT_TRUE(write("first record that may wrap"));
    ASSERT_TRUE(write("second"));
    EXPECT_EQ(read(), "first record that may wrap") << room;
    EXPECT_EQ(read(), "second") << room;
    EXPECT_EQ(read(), "-");
    EXPECT_EQ(ring()->corrupted.load(), 0u);
  }
}

TEST_F(Ring, PopGivesBackAFillerToo) {
  leave_room(16);
  ASSERT_TRUE(write("x"));
  ring_pop(ring());
  EXPECT_EQ(read(), "x");
}

TEST_F(Ring, ConsumedSpaceReadsAsUnpublished) {
  const std::string ones(500, '\xff');
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(write(ones));
    ASSERT_EQ(read(), ones);
  }
  for (uint8_t byte : ring()->data) ASSERT_EQ(byte, 0);
}

TEST_F(Ring, AProducerThatDiedBeforePublishingEndsTheStream) {
  ASSERT_TRUE(write("before"));
  ring()->head += 64;  // reserved, never published
  ASSERT_TRUE(write("after"));
  EXPECT_EQ(read(), "before");
  EXPECT_EQ(read(), "-");
  ring_pop(ring());
  EXPECT_EQ(read(), "-");
  EXPECT_EQ(ring()->corrupted.load(), 0u);
  EXPECT_GT(ring_backlog(ring()), 0u);
}

TEST_F(Ring, RecordsThatCannotBeTrueMarkItCorruptedOnce) {
  struct Damage {
    const char* name;
    void (*apply)(RingMemory*, RecordHeader*);
  };
  const Damage damages[] = {
      {"odd size", [](RingMemory*, RecordHeader* r) { r->size = 33; }},
      {"beyond head", [](RingMemory*, RecordHeader* r) { r->size = 4096; }},
      {"huge", [](RingMemory*, RecordHeader* r) { r->size = 0xfffffff8; }},
      {"smaller than a header", [](RingMemory*, RecordHeader* r) { r->size = 16; }},
      {"payload beyond the record", [](RingMemory*, RecordHeader* r) { r->payload = 0xffffffff; }},
      {"head before tail", [](RingMemory* m, RecordHeader*) { m->tail = 1 << 20; }},
      {"head far away", [](RingMemory* m, RecordHeader*) { m->head = uint64_t{1} << 40; }},
      {"tail not aligned", [](RingMemory* m, RecordHeader*) { m->tail = 4; }},
  };
  for (const Damage& damage : damages) {
    for (bool pop_first : {false, true}) {
      auto memory = std::make_unique<RingMemory>();
      ASSERT_TRUE(ring_write(memory.get(), 1, 0, 0, {}));
      damage.apply(memory.get(), reinterpret_cast<RecordHeader*>(memory->data));
      if (pop_first) ring_pop(memory.get());
      EXPECT_EQ(ring_peek(memory.get()), nullptr) << damage.name;
      EXPECT_EQ(ring_peek(memory.get()), nullptr);
      ring_pop(memory.get());
      EXPECT_EQ(memory->corrupted.load(), 1u) << damage.name;
      EXPECT_EQ(memory->dropped.load(), 1u) << damage.name;
      EXPECT_EQ(ring_backlog(memory.get()), 0u);
    }
  }
}

TEST_F(Ring, ARecordAcrossTheEndIsCorrupted) {
  leave_room(32);
  ASSERT_TRUE(write("x"));
  ASSERT_TRUE(write("y"));
  at(kRingBytes - 32)->size = 64;
  EXPECT_EQ(read(), "-");
  EXPECT_EQ(ring()->corrupted.load(), 1u);
}

TEST_F(Ring, ManyProducersLoseNothingAndKeepTheirOwnOrder) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kEach = 40000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      uint8_t filler[200];
      std::memset(filler, static_cast<int>(t + 1), sizeof filler);
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint32_t head[2] = {t, i};
        const std::span<const uint8_t> parts[] = {
            {reinterpret_cast<const uint8_t*>(head), sizeof head},
            {filler, (i * 7 + t) % sizeof filler}};
        // Full: the consumer frees space; every failed try is counted as a drop.
        while (!ring_write(ring(), static_cast<uint16_t>(t + 1), i, i, parts)) {
          std::this_thread::yield();
        }
      }
    });
  }
  uint32_t next[kThreads] = {};
  for (uint64_t seen = 0; seen < uint64_t{kThreads} * kEach;) {
    RecordView view;
    if (!ring_peek(ring(), &view)) {
      ASSERT_EQ(ring()->corrupted.load(), 0u);
      std::this_thread::yield();
      continue;
    }
    uint32_t head[2];
    ASSERT_GE(view.payload.size(), sizeof head);
    std::memcpy(head, view.payload.data(), sizeof head);
    const uint32_t t = head[0];
    ASSERT_LT(t, kThreads);
    ASSERT_EQ(view.type, t + 1);
    ASSERT_EQ(view.execution, head[1]);
    ASSERT_EQ(head[1], next[t]++);
    const auto rest = view.payload.subspan(sizeof head);
    ASSERT_EQ(rest.size(), (head[1] * 7 + t) % 200);
    for (uint8_t byte : rest) ASSERT_EQ(byte, t + 1);
    ring_pop(ring());
    ++seen;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ring_backlog(ring()), 0u);
}

TEST_F(Ring, ProducersOfAFullRingCountEveryLoss) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 5000;
  const std::string payload(1000, 'p');
  std::atomic<uint64_t> written{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) written += write(payload) ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(written.load(), kRingBytes / 1024);
  EXPECT_EQ(written + ring()->dropped, kThreads * kEach);
}

}  // namespace
}  // namespace filibuster
