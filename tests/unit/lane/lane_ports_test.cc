#include "daemon/lane/lane_ports.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/protocol/lane_memory.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

ServiceConfig automatic(const std::string& name) {
  ServiceConfig service;
  service.name = name;
  service.ports[name] = 0;
  return service;
}

class LanePortsTest : public testing::Test {
 protected:
  LanePortsTest() {
    config_.services = {automatic("users"), automatic("movies")};
    lane_.root = folder_.path();
  }
  PortMap take(const PortMap& brought = {}) {
    lane_.port_notes.clear();
    LanePorts ports(config_, brought, "; so what", &lane_);
    EXPECT_TRUE(ports.take().ok());
    return lane_.automatic_ports;
  }
  PortMap take_and_keep(LanePorts::Keep which, const PortMap& brought = {}) {
    lane_.port_notes.clear();
    LanePorts ports(config_, brought, "", &lane_);
    EXPECT_TRUE(ports.take().ok());
    EXPECT_TRUE(ports.keep(which).ok());
    return lane_.automatic_ports;
  }
  std::string file() const { return folder_.path() + "/ports.json"; }

  TemporaryFolder folder_;
  Config config_;
  SessionLane lane_;
};

// Other ports than a search would find now.
PortMap exchanged(PortMap ports) {
  std::swap(ports.at("users"), ports.at("movies"));
  return ports;
}

TEST_F(LanePortsTest, WhatARootKeptIsTakenAgain) {
  const PortMap wanted = exchanged(take());
  EXPECT_EQ(take_and_keep(LanePorts::Keep::kAll, wanted), wanted);
  EXPECT_EQ(take(), wanted);
  EXPECT_TRUE(lane_.port_notes.empty());
}

TEST_F(LanePortsTest, WhatIsBroughtGoesFirstAndIsNotKeptUnlessAsked) {
  const PortMap kept = take_and_keep(LanePorts::Keep::kAll);
  const PortMap brought = exchanged(kept);
  EXPECT_EQ(take(brought), brought);
  EXPECT_EQ(take(), kept);
  EXPECT_EQ(take_and_keep(LanePorts::Keep::kNewNames, brought), brought);
  EXPECT_EQ(take(), kept) << "names that have one keep it";
}

TEST_F(LanePortsTest, NamesOfOtherConfigurationsStay) {
  const PortMap kept = exchanged(take());
  take_and_keep(LanePorts::Keep::kAll, kept);
  config_.services = {automatic("users"), automatic("carts")};
  const PortMap carts = take_and_keep(LanePorts::Keep::kNewNames);
  config_.services = {automatic("carts"), automatic("users"), automatic("movies")};
  const PortMap all = take();
  EXPECT_EQ(all.at("users"), kept.at("users"));
  EXPECT_EQ(all.at("carts"), carts.at("carts"));
}

TEST_F(LanePortsTest, LanesHaveTheirOwn) {
  const PortMap first = exchanged(take());
  take_and_keep(LanePorts::Keep::kAll, first);
  lane_.number = 1;
  const PortMap second = take_and_keep(LanePorts::Keep::kAll);
  EXPECT_NE(second, first);
  lane_.number = 0;
  EXPECT_EQ(take(), first);
}

TEST_F(LanePortsTest, AFileThatIsNotOursIsPassedOver) {
  const std::vector<std::string> texts = {
      "",
      "[]",
      "{\"version\": 2, \"lanes\": {\"0\": {\"users\": 20001}}}",
      "{\"version\": 1, \"lanes\": []}",
      "{\"version\": 1, \"lanes\": {\"0\": 7}}",
      "{\"version\": 1, \"lanes\": {\"0\": {\"users\": -1, \"movies\": 99999}}}"};
  for (const std::string& text : texts) {
    ASSERT_TRUE(write_file(file(), text).ok());
    EXPECT_EQ(take_and_keep(LanePorts::Keep::kAll).size(), 2u) << text;
    EXPECT_TRUE(lane_.port_notes.empty()) << text;
    EXPECT_EQ(take(), lane_.automatic_ports) << text;
  }
}

TEST_F(LanePortsTest, OneThatCannotBeHadIsNotedWithItsHolder) {
  const PortMap kept = take_and_keep(LanePorts::Keep::kAll);
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kept.at("users"));
  ASSERT_EQ(bind(holder, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(holder, 1), 0);
  const PortMap now = take();
  ASSERT_EQ(lane_.port_notes.size(), 1u);
  const std::string& note = lane_.port_notes[0];
  EXPECT_EQ(note.find("the port of 'users' is " + std::to_string(now.at("users")) + ", and was " +
                      std::to_string(kept.at("users")) + ", which is taken by pid " +
                      std::to_string(getpid())),
            0u)
      << note;
  EXPECT_TRUE(note.ends_with("; so what")) << note;
  close(holder);
}

// No command says for which host it is, so its name is looked up, as that of no other third party.
TEST_F(LanePortsTest, AServerOfRedisIsKnownByItsAddresses) {
  ServiceConfig cache = automatic("cache");
  cache.protocol = Protocol::kRedis;
  cache.third_party = true;
  cache.host = "localhost";
  cache.ports["cache"] = 6379;
  ServiceConfig mail = cache;
  mail.name = "mail";
  mail.protocol = Protocol::kHttp;
  mail.host = "mail.invalid";
  config_.services = {cache, mail};
  auto rows = lane_targets(config_, lane_);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_GE(rows->size(), 2u);
  EXPECT_EQ(rows->front().flags, static_cast<uint32_t>(kTargetThirdParty | kTargetRedis));
  EXPECT_EQ(rows->front().port, 6379);
  EXPECT_NE(rows->front().host, "localhost");
  EXPECT_EQ(rows->back().flags, static_cast<uint32_t>(kTargetThirdParty));
  EXPECT_EQ(rows->back().host, "mail.invalid");
  config_.services[0].host = "cache.invalid";
  rows = lane_targets(config_, lane_);
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.error().message.find("'cache'"), std::string::npos);
}

TEST_F(LanePortsTest, NamesOfServicesLeadToThePortsOfTheLane) {
  ServiceConfig redis = automatic("redis"), db;
  redis.hosts = {{"redis", 6379, "redis"}, {"cache", 0, "redis"}};
  db.name = "db";
  db.host = "10.1.2.3";
  db.ports["db"] = 5433;
  db.hosts = {{"db", 5432, "db"}};
  config_.services = {redis, db};
  lane_.ports = {{"redis", 20001}};
  const auto rows = lane_hosts(config_, lane_);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "redis");
  EXPECT_EQ(rows[0].port, 6379);
  EXPECT_EQ(rows[0].real_port, 20001);
  EXPECT_EQ(rows[0].address, (std::array<uint8_t, 4>{127, 0, 0, 1}));
  EXPECT_EQ(rows[1].port, 0);
  EXPECT_EQ(rows[1].real_port, 20001);
  EXPECT_EQ(rows[2].real_port, 5433);
  EXPECT_EQ(rows[2].address, (std::array<uint8_t, 4>{10, 1, 2, 3}));
}

}  // namespace
}  // namespace filibuster
