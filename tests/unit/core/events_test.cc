#include "core/protocol/events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace filibuster {
namespace {

template <typename E>
std::vector<uint8_t> encoded(const E& event) {
  std::vector<uint8_t> bytes(2 * kMaxEvent);
  bytes.resize(encode(event, bytes.data(), bytes.size()));
  return bytes;
}

// Decodes the round trip, demands that each shorter room and each truncation is refused, and that
// encoding again gives the same bytes.
template <typename E>
E round_trip(const E& event) {
  const std::vector<uint8_t> bytes = encoded(event);
  EXPECT_FALSE(bytes.empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> room(size);
    EXPECT_EQ(encode(event, room.data(), room.size()), 0u);
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    E out;
    EXPECT_FALSE(decode(cut.data(), cut.size(), &out)) << "cut to " << size;
  }
  static std::vector<uint8_t> kept;  // the views of the result point into it
  kept = bytes;
  E out;
  EXPECT_TRUE(decode(kept.data(), kept.size(), &out));
  EXPECT_EQ(encoded(out), bytes);
  return out;
}

TEST(Events, RpcIssuedRoundTrips) {
  RpcIssued e;
  e.rpc = 0x100000002;
  e.parent_rpc = 0x200000003;
  e.index = hash_text("index");
  e.parent_path = hash_text("path");
  e.signature = hash_text("signature");
  e.payload = hash_text("payload");
  e.stack = hash_text("stack");
  e.connect_key = hash_text("connect");
  e.count = 3;
  e.cause = Cause::kOnlyActive;
  e.flags = kRpcPreliminary | kRpcOpensConnection;
  e.thread = 4711;
  e.service = "movies";
  e.method = "GET";
  e.target = "/movies/1?x=2";
  e.body = std::string_view("a\0b", 3);
  e.stack_text = "F users.py:31 get\nN ab+12 /lib/x.so";
  e.peer = "127.0.0.1:5001";
  e.request_id_name = "x-request-id";
  e.told = "x-amz-target: a.B";
  const RpcIssued d = round_trip(e);
  EXPECT_EQ(d.rpc, e.rpc);
  EXPECT_EQ(d.parent_rpc, e.parent_rpc);
  EXPECT_EQ(d.index, e.index);
  EXPECT_EQ(d.parent_path, e.parent_path);
  EXPECT_EQ(d.signature, e.signature);
  EXPECT_EQ(d.payload, e.payload);
  EXPECT_EQ(d.stack, e.stack);
  EXPECT_EQ(d.connect_key, e.connect_key);
  EXPECT_EQ(d.count, 3u);
  EXPECT_EQ(d.cause, Cause::kOnlyActive);
  EXPECT_EQ(d.flags, e.flags);
  EXPECT_EQ(d.thread, 4711u);
  EXPECT_EQ(d.service, "movies");
  EXPECT_EQ(d.method, "GET");
  EXPECT_EQ(d.target, "/movies/1?x=2");
  EXPECT_EQ(d.body, e.body);
  EXPECT_EQ(d.stack_text, e.stack_text);
  EXPECT_EQ(d.peer, "127.0.0.1:5001");
  EXPECT_EQ(d.request_id_name, "x-request-id");
  EXPECT_EQ(d.told, "x-amz-target: a.B");
}

TEST(Events, RpcReceivedRoundTrips) {
  const RpcReceived d = round_trip(RpcReceived{.rpc = 9, .thread = 8, .flags = kRpcEntry});
  EXPECT_EQ(d.rpc, 9u);
  EXPECT_EQ(d.thread, 8u);
  EXPECT_EQ(d.flags, kRpcEntry);
}

TEST(Events, RpcFinishedRoundTrips) {
  RpcFinished e;
  e.rpc = 9;
  e.outcome = RpcOutcome::kReset;
  e.injected = 1;
  e.status = 503;
  e.error = 104;
  e.body = hash_text("b");
  e.body_size = uint64_t{1} << 40;
  e.body_sample = "sample";
  e.begun = 206;
  const RpcFinished d = round_trip(e);
  EXPECT_EQ(d.begun, 206);
  EXPECT_EQ(d.rpc, 9u);
  EXPECT_EQ(d.outcome, RpcOutcome::kReset);
  EXPECT_EQ(d.injected, 1);
  EXPECT_EQ(d.status, 503);
  EXPECT_EQ(d.error, 104u);
  EXPECT_EQ(d.body, e.body);
  EXPECT_EQ(d.body_size, e.body_size);
  EXPECT_EQ(d.body_sample, "sample");
}

TEST(Events, IncomingFinishedRoundTrips) {
  const IncomingFinished d = round_trip(IncomingFinished{.rpc = 1, .status = 404});
  EXPECT_EQ(d.rpc, 1u);
  EXPECT_EQ(d.status, 404);
}

TEST(Events, FaultFiredRoundTrips) {
  const FaultFired d = round_trip(FaultFired{.rpc = 1, .plan_entry = 2, .how = 3, .detail = "x"});
  EXPECT_EQ(d.rpc, 1u);
  EXPECT_EQ(d.plan_entry, 2u);
  EXPECT_EQ(d.how, 3);
  EXPECT_EQ(d.detail, "x");
}

TEST(Events, ListenRoundTrips) {
  Listen e;
  e.port = 8080;
  e.kind = 3;
  for (uint8_t i = 0; i < 16; ++i) e.address[i] = i;
  e.service = "users";
  e.path = "/run/x";
  const Listen d = round_trip(e);
  EXPECT_EQ(d.port, 8080);
  EXPECT_EQ(d.kind, 3);
  EXPECT_EQ(std::memcmp(d.address, e.address, 16), 0);
  EXPECT_EQ(d.service, "users");
  EXPECT_EQ(d.path, "/run/x");
}

TEST(Events, NotInterposedRoundTrips) {
  const NotInterposed d = round_trip(NotInterposed{
      .reason = NotInterposedReason::kHttp2, .outgoing = 0, .peer = "p", .service = ""});
  EXPECT_EQ(d.reason, NotInterposedReason::kHttp2);
  EXPECT_EQ(d.outgoing, 0);
  EXPECT_EQ(d.peer, "p");
  EXPECT_EQ(d.service, "");
}

TEST(Events, UnseenRequestsRoundTrips) {
  const UnseenRequests d =
      round_trip(UnseenRequests{.count = 1ull << 40, .peer = "p", .service = "s"});
  EXPECT_EQ(d.count, 1ull << 40);
  EXPECT_EQ(d.peer, "p");
  EXPECT_EQ(d.service, "s");
}

TEST(Events, RpcFinalizedRoundTrips) {
  RpcFinalized e;
  e.rpc = 5;
  e.payload = hash_text("p");
  e.signature = hash_text("s");
  e.index = hash_text("i");
  const RpcFinalized d = round_trip(e);
  EXPECT_EQ(d.rpc, 5u);
  EXPECT_EQ(d.payload, e.payload);
  EXPECT_EQ(d.signature, e.signature);
  EXPECT_EQ(d.index, e.index);
}

TEST(Events, EveryEndingIsOneAndNothingElse) {
  for (int value = 0; value < 256; ++value) {
    RpcFinished finished;
    finished.outcome = static_cast<RpcOutcome>(value);
    uint8_t bytes[512];
    const size_t size = encode(finished, bytes, sizeof bytes);
    RpcFinished out;
    EXPECT_EQ(decode(bytes, size, &out), outcome_name(finished.outcome) != "unknown") << value;
  }
}

TEST(Events, ConnectionSeenRoundTrips) {
  ConnectionSeen e;
  e.connection = 12;
  e.recording = 3;
  e.server = 1;
  e.protocol = StreamProtocol::kRedis;
  e.seen_from = SeenFrom::kTheMiddle;
  e.messages = 90;
  e.local_port = 5001;
  e.local = "127.0.0.1:5001";
  e.peer = "127.0.0.1:40000";
  e.service = "movies";
  const ConnectionSeen d = round_trip(e);
  EXPECT_EQ(d.connection, 12u);
  EXPECT_EQ(d.recording, 3u);
  EXPECT_EQ(d.protocol, StreamProtocol::kRedis);
  EXPECT_EQ(d.seen_from, SeenFrom::kTheMiddle);
  EXPECT_EQ(d.messages, 90u);
  EXPECT_EQ(d.local_port, 5001);
  EXPECT_EQ(d.peer, "127.0.0.1:40000");
  EXPECT_EQ(d.service, "movies");
}

TEST(Events, ConnectionSeenOfNoProtocolIsRefused) {
  ConnectionSeen e;
  e.protocol = StreamProtocol::kNone;
  const std::vector<uint8_t> bytes = encoded(e);
  ConnectionSeen out;
  EXPECT_FALSE(decode(bytes.data(), bytes.size(), &out));
}

TEST(Events, RpcAtRoundTrips) {
  const RpcAt d = round_trip(RpcAt{.rpc = 5, .connection = 6, .number = 7, .incoming = 1});
  EXPECT_EQ(d.rpc, 5u);
  EXPECT_EQ(d.connection, 6u);
  EXPECT_EQ(d.number, 7u);
  EXPECT_EQ(d.incoming, 1);
}

TEST(Events, NoLimitRoundTrips) {
  EXPECT_EQ(round_trip(NoLimit{.rpc = 5}).rpc, 5u);
}

TEST(Events, RpcBodyRoundTrips) {
  const RpcBody d = round_trip(RpcBody{.rpc = 5, .truncated = 1, .body = "first"});
  EXPECT_EQ(d.rpc, 5u);
  EXPECT_EQ(d.truncated, 1);
  EXPECT_EQ(d.body, "first");
}

TEST(Events, NoteRoundTrips) {
  EXPECT_EQ(round_trip(Note{"a note"}).text, "a note");
  EXPECT_EQ(round_trip(Note{""}).text, "");
}

TEST(Events, TextsAreCutAtTheirLimit) {
  const std::string text(70000, 'x');
  const std::vector<uint8_t> bytes = encoded(Note{text});
  Note out;
  ASSERT_TRUE(decode(bytes.data(), bytes.size(), &out));
  EXPECT_EQ(out.text.size(), 65535u);
}

TEST(Events, ALengthBeyondTheEndIsRefused) {
  std::vector<uint8_t> bytes = encoded(Note{"abc"});
  bytes[0] = 4;
  Note out;
  EXPECT_FALSE(decode(bytes.data(), bytes.size(), &out));
  bytes[0] = bytes[1] = 0xff;
  EXPECT_FALSE(decode(bytes.data(), bytes.size(), &out));
}

TEST(Events, FieldsOfALaterMinorVersionAreIgnored) {
  std::vector<uint8_t> bytes = encoded(IncomingFinished{.rpc = 1, .status = 200});
  bytes.push_back(7);
  IncomingFinished out;
  ASSERT_TRUE(decode(bytes.data(), bytes.size(), &out));
  EXPECT_EQ(out.status, 200);
}

TEST(Events, ValuesOutsideOfTheirEnumerationAreRefused) {
  const auto refused = [](const auto& event) {
    const auto bytes = encoded(event);
    std::decay_t<decltype(event)> out;
    return !decode(bytes.data(), bytes.size(), &out);
  };
  RpcIssued issued;
  EXPECT_FALSE(refused(issued));
  issued.cause = static_cast<Cause>(7);
  EXPECT_TRUE(refused(issued));
  RpcFinished finished;
  EXPECT_FALSE(refused(finished));
  finished.outcome = static_cast<RpcOutcome>(0);
  EXPECT_TRUE(refused(finished));
  finished.outcome = static_cast<RpcOutcome>(8);
  EXPECT_TRUE(refused(finished));
  FaultFired fired;
  EXPECT_FALSE(refused(fired));
  fired.how = 7;
  EXPECT_TRUE(refused(fired));
  fired.how = 0;
  fired.grouped_by = static_cast<GroupedBy>(4);
  EXPECT_TRUE(refused(fired));
  NotInterposed other;
  EXPECT_FALSE(refused(other));
  other.reason = static_cast<NotInterposedReason>(0);
  EXPECT_TRUE(refused(other));
  other.reason =
      static_cast<NotInterposedReason>(static_cast<uint8_t>(NotInterposedReason::kSealed) + 1);
  EXPECT_TRUE(refused(other));
}

TEST(EventNames, AreDifferentAndNeverEmpty) {
  for (uint8_t i = 0; i <= 6; ++i) {
    EXPECT_NE(cause_name(static_cast<Cause>(i)), "unknown");
    for (uint8_t j = 0; j < i; ++j) {
      EXPECT_NE(cause_name(static_cast<Cause>(i)), cause_name(static_cast<Cause>(j)));
    }
  }
  EXPECT_EQ(cause_name(static_cast<Cause>(7)), "unknown");
  for (uint8_t i = 1; i <= 7; ++i) {
    EXPECT_NE(outcome_name(static_cast<RpcOutcome>(i)), "unknown");
    for (uint8_t j = 1; j < i; ++j) {
      EXPECT_NE(outcome_name(static_cast<RpcOutcome>(i)), outcome_name(static_cast<RpcOutcome>(j)));
    }
  }
  EXPECT_EQ(outcome_name(static_cast<RpcOutcome>(8)), "unknown");
  for (uint8_t i = 1; i <= 11; ++i) {
    const auto reason = static_cast<NotInterposedReason>(i);
    EXPECT_NE(reason_name(reason), "unknown");
    for (uint8_t j = 1; j < i; ++j) {
      EXPECT_NE(reason_name(reason), reason_name(static_cast<NotInterposedReason>(j)));
    }
  }
  EXPECT_EQ(reason_name(static_cast<NotInterposedReason>(0)), "unknown");
}

}  // namespace
}  // namespace filibuster
