#include "daemon/report/tree_text.h"

#include <gtest/gtest.h>

#include "daemon/report/seen.h"

namespace filibuster::test {
namespace {

TEST(Seen, IsWhatTheCallersAboveAFaultSawOtherwise) {
  const auto rpc = [](uint64_t id, uint64_t parent, const char* caller, const char* service) {
    RpcRecord out;
    out.rpc = id;
    out.parent_rpc = parent;
    out.index = Hash128{0, id};
    out.caller = caller;
    out.service = service;
    out.method = "GET";
    out.target = "/?token=s3cret";
    out.open = false;
    out.outcome = RpcOutcome::kAnswered;
    out.status = 200;
    return out;
  };
  const std::vector<RpcRecord> reference = {rpc(1, 0, "test", "front"), rpc(2, 1, "front", "back"),
                                            rpc(3, 2, "back", "store"), rpc(4, 1, "front", "ads")};
  std::vector<RpcRecord> rpcs = reference;
  rpcs[2].injected = true;
  rpcs[2].status = 503;
  rpcs[1].response = Hash128{7, 7};
  rpcs[0].status = 500;
  rpcs[3].status = 404;  // not above the fault
  EXPECT_EQ(what_was_seen(rpcs, reference),
            (std::vector<std::string>{
                "front -> back  GET /?token=[redacted]: 200 with another body than without faults",
                "test -> front  GET /?token=[redacted]: 500, without faults 200"}));
  // What the fault has left behind: calls that come later, for another reason.
  for (size_t i = 0; i < rpcs.size(); ++i) rpcs[i].issued_ns = i + 1;
  rpcs.push_back(rpc(5, 0, "test", "front"));
  rpcs.push_back(rpc(6, 5, "front", "back"));
  rpcs.push_back(rpc(7, 0, "test", "ads"));
  auto longer = reference;
  longer.insert(longer.end(), rpcs.begin() + 4, rpcs.end());
  for (size_t i = 4; i < rpcs.size(); ++i) rpcs[i].issued_ns = i + 1;
  rpcs[4].response = rpcs[5].response = Hash128{7, 7};
  const auto seen = what_was_seen(rpcs, longer);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(
      seen[2],
      "test -> front  GET /?token=[redacted], later: 200 with another body than without faults");
  rpcs.resize(4);
  rpcs[2].injected = false;
  EXPECT_TRUE(what_was_seen(rpcs, reference).empty());
  rpcs[2].injected = true;
  rpcs[0].parent_rpc = 3;  // a circle ends
  rpcs[3].status = 200;
  EXPECT_EQ(what_was_seen(rpcs, reference).size(), 2u);
}

TEST(Tree, ShowsEachRpcUnderItsCauseWithItsIndex) {
  std::vector<RpcRecord> rpcs(4);
  for (size_t i = 0; i < rpcs.size(); ++i) {
    rpcs[i].rpc = i + 1;
    rpcs[i].index = Hash128{0, i + 1};
    rpcs[i].method = "GET";
    rpcs[i].target = "/" + std::to_string(i);
    rpcs[i].open = false;
    rpcs[i].outcome = RpcOutcome::kAnswered;
    rpcs[i].status = 200;
    rpcs[i].cause = Cause::kThread;
  }
  rpcs[0].caller = "test", rpcs[0].service = "users", rpcs[0].cause = Cause::kEntry;
  rpcs[1].caller = "users", rpcs[1].service = "bookings", rpcs[1].parent_rpc = 1;
  rpcs[1].injected = true, rpcs[1].fault = parse_fault("refused").value();
  rpcs[2].caller = "users", rpcs[2].service = "movies", rpcs[2].parent_rpc = 1;
  rpcs[2].count = 2, rpcs[2].stack_text = {"users.py:9 (get)"};
  rpcs[3].caller = "users", rpcs[3].service = "metrics", rpcs[3].cause = Cause::kNone;
  const std::string zeros(31, '0');
  EXPECT_EQ(tree_text(rpcs),
            zeros + "1  test -> users  GET /0  200\n" + zeros +
                "2  |- users -> bookings  GET /1  injected refused  [by thread]\n" + zeros +
                "3  `- users -> movies  GET /2 (call 2)  200  at users.py:9 (get)  [by thread]\n" +
                zeros + "4  users -> metrics  GET /3  200  [cause not known]\n");
  rpcs[3].flags |= kRpcBackground;
  EXPECT_TRUE(tree_text(rpcs).ends_with("GET /3  200  [by a background task]\n"));
}

TEST(Tree, ShowsAGrpcCallByItsMethodAndHowItEnded) {
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.caller = "order", rpc.service = "cart", rpc.method = "POST";
  rpc.target = "/shop.CartService/GetCart";
  rpc.flags = kRpcHttp2 | kRpcGrpc;
  rpc.cause = Cause::kEntry;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.status = 200;
  const auto line = [&] {
    const std::string text = tree_text({rpc});
    return text.substr(34, text.size() - 35);  // after the index, without the line's end
  };
  rpc.grpc_status = 0;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> OK");
  rpc.grpc_status = 14;
  rpc.grpc_message = "try later, token=s3cret";
  EXPECT_EQ(line(),
            "order -> cart  shop.CartService/GetCart -> UNAVAILABLE \"try later, "
            "token=[redacted]\"");
  rpc.grpc_status = kNoGrpcStatus;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> 200 without a grpc-status");
  rpc.status = 502;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> 502");
  rpc.outcome = RpcOutcome::kReset;
  rpc.stream_error = 8;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> reset (CANCEL)");
  rpc.injected = true;
  rpc.fault = parse_fault("grpc:INTERNAL").value();
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> injected grpc:INTERNAL");
}

TEST(Tree, ShowsACommandToRedisAndHowItEnded) {
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.caller = "users", rpc.service = "cache", rpc.method = "GET", rpc.target = "token:*";
  rpc.flags = kRpcRedis;
  rpc.cause = Cause::kEntry;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  const auto line = [&] { return tree_text({rpc}).substr(34); };
  EXPECT_EQ(line(), "users -> cache  GET token:* -> answered\n");
  rpc.code_space = CodeSpace::kRedis;
  rpc.code = "WRONGTYPE";
  rpc.response_sample = "WRONGTYPE Operation against a key\r\n";
  EXPECT_EQ(line(), "users -> cache  GET token:* -> WRONGTYPE \"Operation against a key\"\n");
  rpc.method = "PING", rpc.target = "";
  rpc.injected = true;
  rpc.fault = parse_fault("redis:nil").value();
  EXPECT_EQ(line(), "users -> cache  PING -> injected redis:nil\n");
}

}  // namespace
}  // namespace filibuster::test
