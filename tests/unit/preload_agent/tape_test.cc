// What of a connection goes onto the tape, and when.
#include "core/http2/frame.h"
#include "tests/unit/preload_agent/tape_fixture.h"

namespace filibuster::preload::taped {
namespace {

TEST_F(OnTape, AreTheBytesOfAServerInAnySplit) {
  for (size_t pieces = 1; pieces <= kRequest.size(); ++pieces) {
    SCOPED_TRACE(pieces);
    Connection& c = make(Role::kServer);
    std::string requests, answers;
    for (int times = 0; times < 2; ++times) {
      pass(c, true, kRequest, pieces);
      pass(c, false, kAnswer, pieces);
      requests += kRequest;
      answers += kAnswer;
    }
    ASSERT_TRUE(c.state.is_followed());
    const Taken& found = taken(c);
    EXPECT_EQ(found.requests.bytes, requests);
    EXPECT_EQ(found.answers.bytes, answers);
    EXPECT_EQ(found.requests.holes + found.answers.holes, 0u);
    ASSERT_EQ(found.seen.size(), 1u);
    EXPECT_EQ(found.seen[0].seen_from, SeenFrom::kItsFirstByte);
    EXPECT_EQ(found.seen[0].protocol, StreamProtocol::kHttp1);
    EXPECT_EQ(found.seen[0].server, 1);
    EXPECT_EQ(found.seen[0].messages, 0u);
  }
}

TEST_F(OnTape, OfHttp2TheBytesThatToldTheProtocolAreThere) {
  const std::string bytes =
      std::string(http2::kClientPreface) + std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (size_t pieces = 1; pieces <= bytes.size(); ++pieces) {
    SCOPED_TRACE(pieces);
    Connection& c = make(Role::kServer);
    pass(c, true, bytes, pieces);
    const Taken& found = taken(c);
    EXPECT_EQ(found.requests.bytes, bytes);
    ASSERT_EQ(found.seen.size(), 1u);
    EXPECT_EQ(found.seen[0].protocol, StreamProtocol::kHttp2);
    EXPECT_EQ(found.seen[0].seen_from, SeenFrom::kItsFirstByte);
  }
}

TEST_F(OnTape, AreManyPiecesOfOneCall) {
  Connection& c = make(Role::kServer);
  std::vector<iovec> each;
  for (const char& byte : kRequest) each.push_back({const_cast<char*>(&byte), 1});
  observe(c, -1, true, {each.data(), each.size()}, kRequest.size(), c.request_flow.sequence());
  EXPECT_EQ(taken(c).requests.bytes, kRequest);
}

// --- gaps and ends -------------------------------------------------------------------------------

TEST_F(OnTape, IsAGapWhereAPartOfABodyWentByUnseen) {
  Connection& c = make(Role::kServer);
  pass(c, true, "GET /file HTTP/1.1\r\n\r\n");
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
  pass(c, false, head);
  observe_unseen(c, false, 990, c.response_flow.sequence());
  pass(c, false, "last bytes");
  const Taken& found = taken(c);
  ASSERT_EQ(found.gaps.size(), 1u);
  EXPECT_EQ(found.gaps[0].size, 990u);
  EXPECT_EQ(found.gaps[0].position, head.size() + 990);
  EXPECT_EQ(found.gaps[0].requests, 0);
  EXPECT_EQ(found.answers.bytes, head + "last bytes");
  EXPECT_EQ(found.answers.holes, 990u);
}

TEST_F(OnTape, IsAnEndWhereTheConnectionIsGivenUp) {
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  give_up(c, NotInterposedReason::kUpgraded);
  give_up(c, NotInterposedReason::kMidStream);
  pass(c, false, kAnswer);
  const Taken& found = taken(c);
  ASSERT_EQ(found.gaps.size(), 1u);
  EXPECT_EQ(found.gaps[0].size, 0u);
  EXPECT_EQ(found.gaps[0].reason, static_cast<uint8_t>(NotInterposedReason::kUpgraded));
  EXPECT_EQ(found.answers.bytes, "");
}

TEST_F(OnTape, AreTheEndsOfAConnectionWithItsPositions) {
  Connection& c = make(Role::kClient);
  c.role = Role::kServer;
  pass(c, true, kRequest);
  pass(c, false, kAnswer);
  observe_end(c, 0);
  observe_end(c, 0);  // whoever reads on reads the same end again
  tape_closed(c, 0, false);
  const Taken& found = taken(c);
  ASSERT_EQ(found.closed.size(), 2u);
  EXPECT_EQ(found.closed[0].by_peer, 1);
  EXPECT_EQ(found.closed[1].by_peer, 0);
  EXPECT_EQ(found.closed[1].requests, kRequest.size());
  EXPECT_EQ(found.closed[1].answers, kAnswer.size());
}

TEST_F(OnTape, AFullOneLeavesAHoleOnExactlyTheConnectionThatLostBytes) {
  const std::string body(60'000, 'x');
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n";
  Connection& whole = make(Role::kServer);
  Connection& hit = make(Role::kServer);
  pass(whole, true, head);
  pass(hit, true, head);
  uint64_t filled = 0, lost = 0;
  while (tape_->dropped == 0) {
    pass(hit, true, body);
    filled += body.size();
  }
  pass(hit, true, body);
  read();
  lost = head.size() + filled + body.size() - taken_[hit.serial].requests.bytes.size();
  EXPECT_GE(lost, body.size());
  pass(whole, true, body);
  pass(hit, true, body);
  EXPECT_EQ(taken(whole).requests.holes, 0u);
  EXPECT_EQ(taken(whole).requests.bytes, head + body);
  EXPECT_EQ(taken(hit).requests.holes, lost);
  EXPECT_EQ(taken(hit).requests.next, head.size() + filled + 2 * body.size());
}

// --- what is recorded when -----------------------------------------------------------------------

TEST_F(OnTape, IsNothingWithoutARecording) {
  lane_->recording = 0;
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  observe_end(c, 0);
  give_up(c, NotInterposedReason::kUpgraded);
  EXPECT_EQ(tape_->head.load(), 0u);
  EXPECT_EQ(c.announced.load(), 0u);
  EXPECT_TRUE(taken(c).seen.empty());
}

TEST_F(OnTape, AreNoBytesWhereOnlyPlacesAreRecorded) {
  record(1, kRecordPlaces);
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  observe_end(c, 0);
  EXPECT_EQ(tape_->head.load(), 0u);
  EXPECT_EQ(taken(c).seen.size(), 1u);
}

TEST_F(OnTape, AConnectionThatIsIdleBeginsWithAMessageInALaterRecording) {
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  pass(c, false, kAnswer);
  read();
  lane_->recording = 0;
  pass(c, true, kRequest);
  pass(c, false, kAnswer);
  record(2, kEverything);
  pass(c, true, kRequest);
  pass(c, false, kAnswer);
  const Taken& found = taken(c);
  EXPECT_EQ(found.requests.bytes, kRequest);
  EXPECT_EQ(found.answers.bytes, kAnswer);
  ASSERT_EQ(found.seen.size(), 2u);
  EXPECT_EQ(found.seen[1].seen_from, SeenFrom::kAMessage);
  EXPECT_EQ(found.seen[1].recording, 2u);
  EXPECT_EQ(found.seen[1].messages, 2u);
}

TEST_F(OnTape, AConnectionWithAMessageUnderWayIsSeenFromTheMiddle) {
  lane_->recording = 0;
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest.substr(0, 30));
  record(1, kEverything);
  pass(c, true, kRequest.substr(30));
  ASSERT_EQ(taken(c).seen.size(), 1u);
  EXPECT_EQ(taken(c).seen[0].seen_from, SeenFrom::kTheMiddle);
}

TEST_F(OnTape, AnotherAgentSaysAnewWhatAConnectionIs) {
  // As a forked child, which has the connections of its parent, and a tape of its own.
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  EXPECT_EQ(taken(c).requests.bytes, kRequest);
  attachment_.agent = 2;
  pass(c, false, kAnswer);
  const Taken& found = taken(c);
  EXPECT_EQ(found.answers.bytes, kAnswer);
  ASSERT_EQ(found.seen.size(), 2u);
  EXPECT_EQ(found.seen[1].seen_from, SeenFrom::kTheMiddle);
}

TEST_F(OnTape, AProcessWithoutRoomForOneGoesOn) {
  attachment_.tape = nullptr;
  Connection& c = make(Role::kServer);
  pass(c, true, kRequest);
  observe_end(c, 0);
  give_up(c, NotInterposedReason::kUpgraded);
  EXPECT_EQ(taken(c).seen.size(), 1u);
  EXPECT_EQ(taken(c).requests.bytes, "");
}

}  // namespace
}  // namespace filibuster::preload::taped
