// What goes onto the tape of a process: this program stands in the place of an agent, with memory of its own in the
// place of what a daemon shares with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/tape.h"
#include "preload/session/state.h"
#include "preload/stream/tape.h"

// A namespace of its own, since files of a folder are compiled together.
namespace filibuster::preload::taped {

inline constexpr uint32_t kEverything = kRecordPlaces | kRecordBytes;

// One direction of a connection, as a reader puts it together.
struct Direction {
  std::string bytes;
  uint64_t next = 0;   // position of the next byte, where nothing is missing
  uint64_t holes = 0;  // bytes that positions leave out
};
struct Taken {
  Direction requests, answers;
  std::vector<ConnectionSeen> seen;  // without their texts
  std::vector<TapeGap> gaps;
  std::vector<TapeClosed> closed;
};

class OnTape : public testing::Test {
 protected:
  void SetUp() override {
    attachment_.lane = lane_.get();
    attachment_.ring = ring_.get();
    attachment_.tape = tape_.get();
    attachment_.agent = 1;
    record(1, kEverything);
    before_ = g_attachment.exchange(&attachment_);
  }
  void TearDown() override {
    for (Connection* c : made_) unpin(c);
    g_attachment.store(before_);
  }

  void record(uint32_t number, uint32_t parts) {
    lane_->recording = number << kRecordingShift | parts;
  }

  Connection& make(Role role, bool from_start = true) {
    Connection* c = make_connection();
    EXPECT_NE(c, nullptr);
    c->role = role;
    c->seen_from_start = from_start;
    made_.push_back(c);
    return *c;
  }

  // The bytes go by in pieces of so many.
  static void pass(Connection& c, bool requests, std::string_view bytes, size_t pieces = SIZE_MAX) {
    while (!bytes.empty()) {
      const std::string_view one = bytes.substr(0, std::min(pieces, bytes.size()));
      bytes.remove_prefix(one.size());
      const iovec piece{const_cast<char*>(one.data()), one.size()};
      const Flow& flow = requests ? c.request_flow : c.response_flow;
      observe(c, -1, requests, piece, one.size(), flow.sequence());
    }
  }

  // Reads both rings to their end.
  void read() {
    RecordView view;
    for (; ring_peek(ring_.get(), &view); ring_pop(ring_.get())) {
      ConnectionSeen event;
      if (view.type != static_cast<uint16_t>(EventType::kConnectionSeen)) continue;
      ASSERT_TRUE(decode(view.payload.data(), view.payload.size(), &event));
      event.local = event.peer = event.service = {};
      taken_[event.connection].seen.push_back(event);
    }
    for (; ring_peek(tape_.get(), &view); ring_pop(tape_.get())) {
      switch (static_cast<TapeType>(view.type)) {
        case TapeType::kBytes:
          take_bytes(view);
          break;
        case TapeType::kGap: {
          TapeGap gap;
          ASSERT_TRUE(decode(view.payload, &gap));
          taken_[gap.connection].gaps.push_back(gap);
          break;
        }
        case TapeType::kClosed: {
          TapeClosed closed;
          ASSERT_TRUE(decode(view.payload, &closed));
          taken_[closed.connection].closed.push_back(closed);
          break;
        }
        case TapeType::kDraw:  // of no connection
        case TapeType::kFiller:
          break;
      }
    }
  }
  void take_bytes(const RecordView& view) {
    TapeBytes record;
    ASSERT_TRUE(decode(view.payload, &record));
    EXPECT_EQ(record.recording, lane_->recording >> kRecordingShift);
    Taken& taken = taken_[record.connection];
    Direction& direction = record.requests != 0 ? taken.requests : taken.answers;
    if (record.position == 0) direction = {};  // a recording begins with it
    ASSERT_GE(record.position, direction.next);
    direction.holes += record.position - direction.next;
    direction.next = record.position + record.bytes.size();
    direction.bytes.append(record.bytes.begin(), record.bytes.end());
  }
  const Taken& taken(const Connection& c) {
    read();
    return taken_[c.serial];
  }

  std::unique_ptr<LaneMemory> lane_ = std::make_unique<LaneMemory>();
  std::unique_ptr<RingMemory> ring_ = std::make_unique<RingMemory>();
  std::unique_ptr<TapeMemory> tape_ = std::make_unique<TapeMemory>();
  Attachment attachment_;
  Attachment* before_ = nullptr;
  std::vector<Connection*> made_;
  std::map<uint64_t, Taken> taken_;
};

inline constexpr std::string_view kRequest =
    "POST /bookings?x=1 HTTP/1.1\r\nHost: users\r\nAuthorization: none\r\nContent-Length: 4\r\n\r\nbody";
inline constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-More: of it\r\n\r\n2\r\nok\r\n0\r\n\r\n";

}  // namespace filibuster::preload::taped
