#include "daemon/explore/kept_state.h"

#include <gtest/gtest.h>

#include "daemon/observe/nondeterminism.h"

namespace filibuster {
namespace {

// What catalog asks of its Redis: `cold` also stores what it has computed.
ExecutionRecord books(bool cold) {
  ExecutionRecord out;
  const auto add = [&](uint64_t parent, const char* caller, const char* service, const char* method,
                       const char* target) {
    RpcRecord rpc;
    rpc.rpc = out.rpcs.size() + 1;
    rpc.parent_rpc = parent;
    rpc.cause = parent == 0 ? Cause::kEntry : Cause::kThread;
    rpc.caller = caller;
    rpc.service = service;
    rpc.method = method;
    rpc.target = target;
    rpc.stack_text = {std::string(caller) + ".py:25 (books)"};
    rpc.index = hash_text(std::string(method) + target);
    if (rpc.service == "cache") rpc.flags |= kRpcRedis;
    out.rpcs.push_back(rpc);
  };
  add(0, "test", "catalog", "GET", "/books");
  add(1, "catalog", "cache", "GET", "page:*");
  if (cold) add(1, "catalog", "cache", "SET", "page:*");
  return out;
}

Config config() {
  Config out;
  ServiceConfig cache;
  cache.name = "cache";
  cache.protocol = Protocol::kRedis;
  cache.command.argv = {"redis-server"};
  cache.ports["cache"] = 0;
  ServiceConfig catalog;
  catalog.name = "catalog";
  catalog.command.argv = {"./catalog"};
  catalog.ports["catalog"] = 0;
  out.services = {cache, catalog};
  return out;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text + "\n").find("\n" + line + "\n") != std::string::npos;
}

TEST(KeptState, ACallOfTheFirstExecutionAloneIsOneOfSome) {
  const ExecutionRecord cold = books(true), warm = books(false);
  const Records runs = {&cold, &warm, &warm};
  const auto calls = calls_of_some(runs, config(), {}, {});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].rpc, "catalog -> cache SET page:*");
  EXPECT_EQ(calls[0].in_runs, std::set<size_t>{0});
  EXPECT_EQ(why_not_planned(calls[0], 3),
            "seen in 1 of 3 executions without faults: " + std::string(kKept));
  EXPECT_TRUE(calls_of_some({&cold, &cold}, config(), {}, {}).empty());
}

TEST(KeptState, WhatGetsNoFaultAnywayOrVariesIsNone) {
  const ExecutionRecord cold = books(true), warm = books(false);
  Config left_out = config();
  left_out.faults.push_back({});
  EXPECT_TRUE(calls_of_some({&cold, &warm}, left_out, {}, {}).empty());
  UnstableRpcs unstable;
  UnstableKind kind;
  kind.caller = "catalog";
  kind.service = "cache";
  kind.method = "SET";
  unstable.add(kind);
  EXPECT_TRUE(calls_of_some({&cold, &warm}, config(), {}, unstable).empty());
  ExecutionRecord unknown = books(true);
  unknown.rpcs.back().cause = Cause::kNone;
  EXPECT_TRUE(calls_of_some({&unknown, &warm}, config(), {}, {}).empty());
}

TEST(KeptState, TheWarningHasTheMemberThatEmptiesRedis) {
  const ExecutionRecord cold = books(true), warm = books(false);
  const Records runs = {&cold, &warm};
  Config own = config();
  const auto calls = calls_of_some(runs, own, {}, {});
  const std::string text = kept_state_warning(calls, runs, own);
  EXPECT_NE(text.find("catalog -> cache SET page:*, at catalog.py:25 (books): seen in 1 of 2"),
            std::string::npos)
      << text;
  EXPECT_TRUE(
      has_line(text, "\"hooks\": {\"before_execution\": \"redis-cli -p ${port:cache} flushall\"}"))
      << text;
  EXPECT_TRUE(has_line(text, "\"restart\": \"each\"")) << text;
  own.hooks.before_execution.argv = {"/bin/sh", "-c", "./seed \"a\""};
  EXPECT_TRUE(has_line(
      kept_state_note(calls, runs, own),
      R"("hooks": {"before_execution": "./seed \"a\" && redis-cli -p ${port:cache} flushall"})"));
}

TEST(KeptState, ARedisThatIsNotDeclaredIsKnownByItsConnection) {
  ExecutionRecord cold = books(true);
  const ExecutionRecord warm = books(false);
  cold.not_interposed.push_back({"catalog", "127.0.0.1:1", "cache", "redis", true, 1});
  Config own = config();
  own.services[0].protocol = Protocol::kHttp;
  const auto calls = calls_of_some({&cold, &warm}, own, {}, {});
  EXPECT_NE(kept_state_warning(calls, {&cold, &warm}, own).find("flushall"), std::string::npos);
}

TEST(KeptState, WithoutAStoreTheCallerIsStartedAnew) {
  const ExecutionRecord cold = books(true), warm = books(false);
  const Records runs = {&cold, &warm};
  Config own = config();
  own.services[0].command = {};  // somebody else's Redis is not emptied
  const auto calls = calls_of_some(runs, own, {}, {});
  const std::string text = kept_state_warning(calls, runs, own);
  EXPECT_EQ(text.find("flushall"), std::string::npos) << text;
  EXPECT_NE(text.find("in the row of catalog:\n\"restart\": \"each\"\n"), std::string::npos)
      << text;
  own.services[1].restart = ServiceConfig::Restart::kEach;
  const std::string restarted = kept_state_warning(calls, runs, own);
  EXPECT_EQ(restarted.find("\"restart\""), std::string::npos) << restarted;
  EXPECT_TRUE(has_line(restarted, "\"hooks\": {\"before_execution\": \"COMMAND\"}")) << restarted;
}

}  // namespace
}  // namespace filibuster
