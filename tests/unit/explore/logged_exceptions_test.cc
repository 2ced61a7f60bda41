#include "daemon/explore/logged_exceptions.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

InjectedFault fault_at(const std::string& caller, const std::string& site) {
  InjectedFault out;
  out.caller = caller;
  out.stack = {site};
  return out;
}

const std::string kLog =
    "INFO: GET /books 200\nTraceback (most recent call last):\n  File \"/lib/httpcore.py\", line 8, "
    "in map\nhttpcore.ConnectError: no\n\nThe above exception was the direct cause of the following "
    "exception:\n\nTraceback (most recent call last):\n  File \"/app/gateway.py\", line 33, in "
    "books\n  File \"/lib/httpx.py\", line 9, in get\nhttpx.ConnectError: All attempts failed\n"
    "INFO: GET /stock\nTraceback (most recent call last):\n  File \"/app/gateway.py\", line 50, in "
    "stock\nKeyError: 'left'\n";

TEST(LoggedExceptions, HaveTheFrameOfTheFaultsCallSite) {
  const auto faults = {fault_at("gateway", "/app/gateway.py:33 (books)")};
  EXPECT_EQ(
      to_lines(logged_exceptions({{"gateway", kLog + kLog}}, faults)),
      (std::vector<std::string>{
          "gateway logged httpx.ConnectError: All attempts failed, at /app/gateway.py:33 (books)",
          "gateway logged KeyError: 'left', at /app/gateway.py:50 (stock)"}));
}

TEST(LoggedExceptions, AreThoseOfTheFaultsCallers) {
  EXPECT_TRUE(logged_exceptions({{"stock", kLog}}, {fault_at("gateway", "g.py:3 (f)")}).empty());
  EXPECT_TRUE(logged_exceptions({{"gateway", "all is well\n"}}, {fault_at("gateway", "g.py:3 (f)")})
                  .empty());
}

}  // namespace
}  // namespace filibuster
