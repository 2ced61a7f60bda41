#include "daemon/observe/silent_services.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

// A service that answers, and whose own calls are not seen.
std::string said_of_silent_users(const std::vector<AgentRecord>& agents) {
  Config config;
  config.services.emplace_back().name = "users";
  ExecutionRecord record;
  RpcRecord& rpc = record.rpcs.emplace_back();
  rpc.service = "users";
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  const auto found = services_without_agent(config, record, agents);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? "" : found.begin()->second;
}

TEST(ServicesWithoutAgent, TakesNoPartOnlyIfNoneOfItsProcessesDoes) {
  AgentRecord other;
  other.service = "movies";
  other.executable = "/usr/bin/node";
  EXPECT_NE(said_of_silent_users({other}).find("takes no part in the session"), std::string::npos);
  AgentRecord own = other;
  own.service = "users";
  own.executable = "/usr/bin/python3";
  AgentRecord shell = own;
  shell.executable = "/bin/sh";
  const std::string said = said_of_silent_users({other, own, own, shell});
  EXPECT_EQ(said.find("takes no part in the session:"), std::string::npos) << said;
  EXPECT_NE(
      said.find(
          "no process of it that takes part in the session (python3, sh) was seen to receive it"),
      std::string::npos)
      << said;
}

}  // namespace
}  // namespace filibuster
