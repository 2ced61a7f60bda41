#include "daemon/replay/places.h"

#include <gtest/gtest.h>

#include "core/protocol/events.h"

namespace filibuster::replay {
namespace {

class PlacesOf : public ::testing::Test {
 protected:
  template <typename Event>
  void tell(uint32_t agent, EventType type, const Event& event, uint32_t execution = 1) {
    uint8_t bytes[kMaxEvent];
    const size_t size = encode(event, bytes, sizeof bytes);
    ASSERT_GT(size, 0u);
    EventSource source;
    source.agent = agent;
    EventHead head;
    head.type = static_cast<uint16_t>(type);
    head.execution = execution;
    places.event(source, head, {bytes, size});
  }
  void connection(uint32_t agent, uint64_t number, uint16_t port) {
    ConnectionSeen seen;
    seen.connection = number;
    seen.local_port = port;
    tell(agent, EventType::kConnectionSeen, seen);
  }
  void issued(uint32_t agent, uint64_t rpc, uint64_t parent, uint16_t flags = 0,
              uint32_t execution = 1) {
    RpcIssued event;
    event.rpc = rpc;
    event.parent_rpc = parent;
    event.flags = flags;
    event.stack_text = "F a.py:1 f\nF b.py:2 g";
    tell(agent, EventType::kRpcIssued, event, execution);
  }
  void at(uint32_t agent, uint64_t rpc, uint64_t connection, uint64_t number) {
    tell(agent, EventType::kRpcAt, RpcAt{rpc, connection, number, 0});
  }

  Places places;
};

TEST_F(PlacesOf, ACallIsKnownByItsPortAndItsPlace) {
  connection(1, 4, 5000);
  connection(2, 4, 5001);
  issued(1, 10, 0, kRpcEntry);
  issued(1, 11, 10);
  at(1, 11, 4, 2);
  const auto found = places.at(5000, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, cases::Cause::kCase);
  EXPECT_EQ(found->stack, (std::vector<std::string>{"F a.py:1 f", "F b.py:2 g"}));
  EXPECT_FALSE(places.at(5000, 1));
  EXPECT_FALSE(places.at(5001, 2));  // the connection of that number of another agent
  EXPECT_FALSE(places.at(5002, 2));
}

TEST_F(PlacesOf, APortIsThatOfItsLastConnection) {
  connection(1, 4, 5000);
  issued(1, 10, 0, kRpcBackground);
  at(1, 10, 4, 1);
  connection(1, 5, 5000);
  EXPECT_FALSE(places.at(5000, 1));
  at(1, 10, 5, 1);
  ASSERT_TRUE(places.at(5000, 1));
  EXPECT_EQ(places.at(5000, 1)->cause, cases::Cause::kProcess);
}

TEST_F(PlacesOf, WhatNothingHasCausedIsNotOfTheCase) {
  issued(1, 10, 0);
  EXPECT_EQ(places.of(10)->cause, cases::Cause::kNone);
  issued(1, 11, 99);  // whose cause was not told
  EXPECT_EQ(places.of(11)->cause, cases::Cause::kNone);
  issued(1, 12, 13);  // a circle
  issued(1, 13, 12);
  EXPECT_EQ(places.of(12)->cause, cases::Cause::kNone);
  EXPECT_FALSE(places.of(14));
}

TEST_F(PlacesOf, ACallBehindTheAnswerIsOfTheRequestThatCausedIt) {
  issued(1, 10, 0, kRpcEntry, 4);
  issued(1, 11, 10, 0, 4);
  places.begin();
  issued(1, 20, 0, kRpcEntry, 6);
  // It was told before the next case began, and comes behind that.
  ASSERT_TRUE(places.of(11));
  EXPECT_EQ(places.of(11)->cause, cases::Cause::kCase);
  EXPECT_EQ(places.of(11)->execution, 4u);
  issued(1, 21, 20, 0, 6);
  EXPECT_EQ(places.of(21)->execution, 6u);
  places.begin();
  places.begin();
  // Its cause is long over.
  issued(1, 12, 10, kRpcLate, 4);
  ASSERT_TRUE(places.of(12));
  EXPECT_EQ(places.of(12)->cause, cases::Cause::kCase);
  EXPECT_EQ(places.of(12)->execution, 4u);
  issued(1, 13, 0, kRpcLate, 4);
  EXPECT_EQ(places.of(13)->cause, cases::Cause::kNone);
}

TEST_F(PlacesOf, ANewCaseForgetsCallsAndKeepsConnections) {
  connection(1, 4, 5000);
  issued(1, 10, 0, kRpcEntry);
  at(1, 10, 4, 1);
  places.lost({}, 3);
  EXPECT_EQ(places.lost_events(), 3u);
  places.begin();
  EXPECT_EQ(places.lost_events(), 0u);
  EXPECT_TRUE(places.at(5000, 1)) << "it may be under way";
  places.begin();
  EXPECT_FALSE(places.at(5000, 1));
  issued(1, 11, 0, kRpcEntry);
  at(1, 11, 4, 2);
  EXPECT_TRUE(places.at(5000, 2));
}

TEST_F(PlacesOf, WhatIsNoEventIsPassedOver) {
  EventHead head;
  head.type = static_cast<uint16_t>(EventType::kRpcAt);
  const uint8_t bytes[] = {1, 2, 3};
  places.event({}, head, bytes);
  EXPECT_FALSE(places.of(1));
}

}  // namespace
}  // namespace filibuster::replay
