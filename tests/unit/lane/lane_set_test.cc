#include "daemon/lane/lane_set.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

ServiceConfig service(const std::string& name, uint16_t port = 0) {
  ServiceConfig out;
  out.name = name;
  out.command.argv = {"true"};
  out.ports[name] = port;
  return out;
}

TEST(LaneSet, SeveralLanesNeedPortsOfTheirOwn) {
  Config config;
  EXPECT_NE(why_one_lane(config), "");
  config.services = {service("a"), service("b")};
  EXPECT_EQ(why_one_lane(config), "");
  config.services.push_back(service("c", 8080));
  EXPECT_NE(why_one_lane(config).find("fixed port 8080"), std::string::npos);
}

TEST(LaneSet, AServiceThatSomebodyElseStartsAllowsOneLaneUnlessItIsNotOfTheApplication) {
  Config config;
  config.services = {service("a"), service("b")};
  config.services[1].command.argv.clear();
  EXPECT_NE(why_one_lane(config).find("somebody else"), std::string::npos);
  config.services[1].third_party = true;
  EXPECT_EQ(why_one_lane(config), "");
  EXPECT_EQ(shared_between_lanes(config), std::vector<std::string>{"b"});
  config.services[1].third_party = false;
  config.services[1].ignored = true;
  EXPECT_EQ(why_one_lane(config), "");
}

TEST(LaneToken, NamesItsLane) {
  EXPECT_EQ(lane_token("secret", 0), "secret");
  EXPECT_EQ(lane_of_token("secret", "secret"), 0u);
  EXPECT_EQ(lane_of_token(lane_token("secret", 7), "secret"), 7u);
  for (const char* wrong : {"", "secre", "secrets", "Secret", "secret-", "secret-0", "secret-x",
                            "secret-1x", "secret-99999999999"})
    EXPECT_FALSE(lane_of_token(wrong, "secret")) << wrong;
  EXPECT_FALSE(lane_of_token("", ""));
}

TEST(Substitute, KnowsTheLaneAndThePorts) {
  SessionLane lane;
  lane.number = 3;
  lane.ports = {{"a", 20001}};
  EXPECT_EQ(substitute(lane, "x${lane}-${port:a}-${lane}").value(), "x3-20001-3");
  EXPECT_EQ(substitute(lane, "${lan} $lane ${other}").value(), "${lan} $lane ${other}");
  EXPECT_FALSE(substitute(lane, "${port:b}").ok());
}

}  // namespace
}  // namespace filibuster
