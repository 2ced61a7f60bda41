#include "daemon/report/refusals.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

RpcRecord refused(const std::string& caller, const std::string& path, RpcOutcome outcome,
                  uint16_t flags = 0) {
  RpcRecord out;
  out.caller = caller;
  out.service = "back";
  out.method = "GET";
  out.target = path;
  out.open = false;
  out.injected = true;
  out.fault.kind = FaultKind::kRefused;
  out.outcome = outcome;
  out.flags = flags;
  return out;
}

ExecutionRecord record(std::vector<RpcRecord> rpcs) {
  ExecutionRecord out;
  out.rpcs = std::move(rpcs);
  return out;
}

TEST(Refusals, AreCountedForEachClientAsWhatTheyWere) {
  RpcRecord other = refused("front", "/c", RpcOutcome::kReset);
  other.fault.kind = FaultKind::kReset;  // was asked for as a reset
  RpcRecord by_itself = refused("front", "/d", RpcOutcome::kRefused);
  by_itself.injected = false;
  RefusalCounts counts;
  EXPECT_FALSE(counts.see(record({other, by_itself})));
  EXPECT_TRUE(counts.see(record({refused("front", "/a?x=1", RpcOutcome::kRefused),
                                 refused("front", "/b", RpcOutcome::kReset),
                                 refused("web", "/b", RpcOutcome::kReset, kRpcHttp2)})));
  EXPECT_TRUE(counts.see(record({refused("front", "/a", RpcOutcome::kReset)})));
  RefusalCounts resumed;
  resumed.add_json(counts.to_json());
  resumed.add_json("no JSON");
  for (const auto& clients : {counts.all(), resumed.all()}) {
    ASSERT_EQ(clients.size(), 2u);
    EXPECT_EQ(clients[0].caller, "front");
    EXPECT_EQ(clients[0].service, "back");
    EXPECT_EQ(clients[0].protocol, "HTTP/1.1");
    EXPECT_EQ(clients[0].refused, 1u);
    EXPECT_EQ(clients[0].reset, 2u);
    EXPECT_EQ(clients[0].never_refused, std::vector<std::string>{"front -> back GET /b"});
    EXPECT_EQ(clients[1].protocol, "HTTP/2");
    EXPECT_EQ(clients[1].refused, 0u);
    EXPECT_EQ(clients[1].reset, 1u);
    EXPECT_EQ(to_note(clients[1]),
              "'refused' reached web -> back (HTTP/2) as a reset only, since the connection was "
              "open; what web does about a refused connection was not tried at web -> back GET /b");
  }
}

TEST(Refusals, OfRedisAreOfAnotherClient) {
  RefusalCounts counts;
  ASSERT_TRUE(counts.see(record({refused("front", "what?:*", RpcOutcome::kReset, kRpcRedis)})));
  ASSERT_EQ(counts.all().size(), 1u);
  EXPECT_EQ(counts.all()[0].protocol, "Redis");
  EXPECT_EQ(counts.all()[0].never_refused, std::vector<std::string>{"front -> back GET what?:*"});
}

}  // namespace
}  // namespace filibuster
