#include "daemon/verbs/trace/watched_calls.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace filibuster {
namespace {

RpcRecord call(uint64_t id, const char* caller, const char* service, uint64_t took_us,
               uint64_t parent = 0) {
  RpcRecord rpc;
  rpc.rpc = id;
  rpc.parent_rpc = parent;
  rpc.caller = caller;
  rpc.service = service;
  rpc.method = "GET";
  rpc.target = "/x?secret=1";
  rpc.issued_ns = id * 1000;
  rpc.finished_ns = rpc.issued_ns + took_us * 1000;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.status = 200;
  rpc.open = false;
  rpc.stack_text = {"users.py:3 (f)"};
  return rpc;
}

ExecutionRecord record(std::vector<RpcRecord> rpcs) {
  ExecutionRecord out;
  out.rpcs = std::move(rpcs);
  return out;
}

uint64_t told(WatchedCalls* calls, const ExecutionRecord& seen) {
  uint64_t count = 0;
  calls->see(seen, [&](const RpcRecord&) { ++count; });
  return count;
}

TEST(WatchedCalls, ACallIsToldOnceAndWhenItHasEnded) {
  WatchedCalls calls;
  RpcRecord open = call(2, "users", "movies", 1);
  open.open = true;
  EXPECT_EQ(told(&calls, record({call(1, "users", "movies", 1), open})), 1u);
  EXPECT_EQ(told(&calls, record({call(1, "users", "movies", 1), open})), 0u);
  open.open = false;
  EXPECT_EQ(told(&calls, record({call(1, "users", "movies", 1), open})), 1u);
  EXPECT_EQ(calls.count(), 2u);
}

TEST(WatchedCalls, WhatIsUnderWayAsTheRecordIsPutAwayIsCounted) {
  WatchedCalls calls;
  RpcRecord open = call(2, "users", "movies", 1);
  open.open = true;
  const ExecutionRecord last = record({call(1, "users", "movies", 1), open});
  told(&calls, last);
  calls.begin_next(last);
  EXPECT_EQ(calls.ids(), 0u);
  EXPECT_EQ(calls.cut_off(), 1u);
  EXPECT_NE(calls.text().find("1 call was under way while the record was put away"),
            std::string::npos);
}

TEST(WatchedCalls, EventsThatWereLostAreCountedOverAllExecutions) {
  WatchedCalls calls;
  ExecutionRecord seen = record({call(1, "users", "movies", 1)});
  seen.lost_events = 3;
  told(&calls, seen);
  told(&calls, seen);
  EXPECT_EQ(calls.lost(), 3u);
  calls.begin_next(seen);
  told(&calls, seen);
  EXPECT_EQ(calls.lost(), 6u);
  EXPECT_NE(calls.text().find("6 events were lost"), std::string::npos);
}

TEST(WatchedCalls, CallsAreCountedByTheirSiteWithoutTheQuery) {
  WatchedCalls calls;
  RpcRecord failed = call(2, "users", "movies", 3000);
  failed.status = 503;
  RpcRecord refused = call(3, "users", "movies", 2000);
  refused.outcome = RpcOutcome::kRefused;
  told(&calls, record({call(1, "users", "movies", 1000), failed, refused}));
  calls.end_interval(2.0);
  const auto rows = calls.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["call"], "GET /x");
  EXPECT_EQ(rows[0]["call_site"], "users.py:3 (f)");
  EXPECT_EQ(rows[0]["count"], 3);
  EXPECT_EQ(rows[0]["failed"], 2);
  EXPECT_EQ(rows[0]["rate"], 1.5);
  EXPECT_EQ(rows[0]["p50_ms"], 2.0);
  EXPECT_EQ(rows[0]["p99_ms"], 3.0);
  calls.end_interval(1.0);
  EXPECT_EQ(calls.rows()[0]["rate"], 0.0);
}

TEST(WatchedCalls, TheTreeIsThatOfTheLastRequestThatHasEnded) {
  WatchedCalls calls;
  RpcRecord later = call(10, "test", "later", 1);
  later.open = true;
  told(&calls, record({call(1, "test", "users", 9), call(2, "users", "movies", 1, 1), later}));
  EXPECT_NE(calls.text().find("test -> users"), std::string::npos) << calls.text();
  EXPECT_NE(calls.text().find("`- users -> movies"), std::string::npos) << calls.text();
  EXPECT_EQ(calls.text().find("later"), std::string::npos) << calls.text();
}

TEST(WatchedCalls, ARequestFromOutsideIsTheLastOneAlsoIfACallWithoutACauseCameLater) {
  WatchedCalls calls;
  RpcRecord lone = call(3, "users", "movies", 1);
  lone.issued_ns += 1000;
  lone.finished_ns += 1000;
  told(&calls, record({call(1, "test", "users", 9), call(2, "users", "movies", 1, 1), lone}));
  EXPECT_NE(calls.text().find("test -> users"), std::string::npos) << calls.text();
}

TEST(WatchedCalls, WhatWentOverConnectionsFromBeforeIsSaid) {
  WatchedCalls calls;
  EXPECT_EQ(calls.text().find("open before"), std::string::npos);
  calls.set_unseen(3);
  EXPECT_NE(calls.text().find("connections that were open before: 3 writes"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
