#include "daemon/explore/judgement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace filibuster {
namespace {

// test -> a, and from there calls of the names given in turn, each caused by the one before.
ExecutionRecord chain(const std::vector<std::string>& names, size_t calls) {
  ExecutionRecord out;
  for (size_t i = 0; i <= calls; ++i) {
    RpcRecord rpc;
    rpc.rpc = i + 1;
    rpc.parent_rpc = i;
    rpc.caller = i == 0 ? "test" : names[(i - 1) % names.size()];
    rpc.service = names[i % names.size()];
    rpc.method = "GET";
    rpc.target = "/" + rpc.service;
    rpc.stack = hash_text(rpc.caller);
    rpc.stack_text = {rpc.caller + ".py:7 (get)"};
    out.rpcs.push_back(rpc);
  }
  return out;
}

TEST(CallsWithoutEnd, AreNamedWithTheirCallSite) {
  EXPECT_EQ(calls_without_end(chain({"a"}, 150)),
            "service 'a' seems to call itself without end: a -> a GET /a is 150 levels deep, at "
            "a.py:7 (get)");
  EXPECT_EQ(calls_without_end(chain({"a", "b", "c"}, 303)),
            "service 'a' seems to call itself without end, by way of 'b': a -> b GET /b is 101 "
            "levels deep, at a.py:7 (get)");
}

TEST(CallsWithoutEnd, AreNotThoseOfALongChainOrManyCallsSideBySide) {
  EXPECT_EQ(calls_without_end(chain({"a"}, 100)), "");
  ExecutionRecord loop = chain({"a"}, 1000);
  for (RpcRecord& rpc : loop.rpcs) rpc.parent_rpc = rpc.rpc == 1 ? 0 : 1;
  EXPECT_EQ(calls_without_end(loop), "");
  EXPECT_EQ(calls_without_end({}), "");
}

}  // namespace
}  // namespace filibuster
