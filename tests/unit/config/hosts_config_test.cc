#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_services(const std::string& services) {
  return parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"services": [)" + services +
                          "]}",
                      "f.json", "/d");
}

std::string error_of_services(const std::string& services) {
  const ParsedConfig parsed = parse_services(services);
  if (parsed.errors.size() != 1) return std::to_string(parsed.errors.size()) + " errors";
  const ConfigError& error = parsed.errors[0];
  return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
}

std::string one(const std::string& members) {
  return R"({"name": "redis", "command": "x", )" + members + "}";
}

std::vector<HostConfig> hosts_of(const std::string& services) {
  const ParsedConfig parsed = parse_services(services);
  EXPECT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_TRUE(parsed.config.has_hosts());
  return parsed.config.services.at(0).hosts;
}

using Hosts = std::vector<HostConfig>;

TEST(Hosts, ANameAloneIsAnyPortAndLeadsToTheFirst) {
  EXPECT_EQ(hosts_of(one(R"("hosts": ["Redis.internal."])")),
            (Hosts{{"redis.internal", 0, "redis"}}));
  EXPECT_EQ(hosts_of(one(R"("hosts": ["redis:6379", "cache"])")),
            (Hosts{{"redis", 6379, "redis"}, {"cache", 0, "redis"}}));
}

TEST(Hosts, AFixedPortIsReachedUnderItsNumber) {
  const std::string ports = R"("ports": {"api": 9000, "console": 9001, "z": 0}, )";
  EXPECT_EQ(hosts_of(one(ports + R"("hosts": ["minio"])")),
            (Hosts{{"minio", 9000, "api"}, {"minio", 9001, "console"}, {"minio", 0, "api"}}));
  EXPECT_EQ(hosts_of(one(ports + R"("hosts": ["minio:9001", "minio:80"])")),
            (Hosts{{"minio", 9001, "console"}, {"minio", 80, "api"}}));
  EXPECT_EQ(hosts_of(one(ports + R"("hosts": {"minio:80": "z", "minio": "console"})")),
            (Hosts{{"minio", 80, "z"}, {"minio", 0, "console"}}));
}

TEST(Hosts, ServicesWithoutACommandHaveThemToo) {
  EXPECT_EQ(hosts_of(R"({"name": "db", "ports": {"db": 5433}, "hosts": ["db:5432"]})"),
            (Hosts{{"db", 5432, "db"}}));
  EXPECT_EQ(hosts_of(R"({"name": "db", "hosts": ["api.example.com"], "stubs": []})"),
            (Hosts{{"api.example.com", 0, "db"}}));
  EXPECT_FALSE(parse_services(one(R"("env": {})")).config.has_hosts());
}

TEST(Hosts, TheSameNameAndPortTwiceIsAnErrorOfBothServices) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"name": "a", "command": "x", "hosts": [)" + a + "]},\n" +
           R"({"name": "b", "command": "x", "hosts": [)" + b + "]}";
  };
  EXPECT_EQ(error_of_services(two(R"("gw:80")", R"("gw", "gw:80")")),
            "3:47 'hosts': 'gw:80' is a name of the services 'a' and 'b'");
  EXPECT_EQ(error_of_services(two(R"("gw")", R"("GW.")")),
            "3:41 'hosts': 'gw' is a name of the services 'a' and 'b'");
  EXPECT_EQ(error_of_services(two(R"("gw:80", "gw:80")", R"("gw:81")")), "0 errors");
  EXPECT_EQ(
      error_of_services(one(R"("ports": {"a": 1, "b": 2}, "hosts": {"gw:80": "a", "GW:80": "b"})")),
      "2:99 'hosts': 'gw:80' leads to two ports of service 'redis': 'a' and 'b'");
}

TEST(Hosts, WhatIsNoNameIsAnError) {
  const std::string expected =
      "; expected a name as programs write it, with a port or without: \"redis\", "
      "\"users.internal:8080\"";
  const auto name = [](const std::string& text) {
    return error_of_services(one("\"hosts\": [\"" + text + "\"]"));
  };
  const std::string at = "2:58 'hosts': ";
  EXPECT_EQ(name("redis:"), at + "'redis:' has no port of 1 to 65535 behind its colon" + expected);
  EXPECT_EQ(name("redis:0"),
            at + "'redis:0' has no port of 1 to 65535 behind its colon" + expected);
  EXPECT_EQ(name("redis:65536"),
            at + "'redis:65536' has no port of 1 to 65535 behind its colon" + expected);
  EXPECT_EQ(name("http://redis"),
            at + "'http://redis' has no port of 1 to 65535 behind its colon" + expected);
  EXPECT_EQ(name(""), at + "'' is no host name" + expected);
  EXPECT_EQ(name("a b"), at + "'a b' is no host name" + expected);
  EXPECT_EQ(name("::1"), at + "'::1' is no host name" + expected);
  EXPECT_EQ(name("127.1:80"),
            at + "'127.1' is an address, and only names are led to a service" + expected);
  EXPECT_EQ(name("localhost:80"), at + "'localhost' is this machine for every program" + expected);
  const std::string longest(116, 'a');
  EXPECT_EQ(name(longest), "0 errors");
  EXPECT_EQ(name(longest + "a"),
            at + "'" + longest + "a' is longer than 116 characters" + expected);
}

TEST(Hosts, APortIsNeededToWhichTheNameLeads) {
  EXPECT_EQ(error_of_services(R"({"name": "a", "hosts": ["a"]})"),
            "2:38 'hosts': service 'a' has no port to which a name could lead");
  EXPECT_EQ(error_of_services(one(R"("hosts": {"a": "b"})")),
            "2:58 'hosts': service 'redis' has no port 'b'; it has 'redis'");
  EXPECT_EQ(error_of_services(one(R"("host": "::1", "hosts": ["a"])")),
            "2:73 'hosts': names lead to this machine or to an IPv4 address, and the 'host' of "
            "service 'redis' is '::1'");
  EXPECT_EQ(error_of_services(one(R"("hosts": "a")")).substr(0, 62),
            "2:57 'hosts': expected an array of names as in [\"redis\", \"redi");
  std::string many;
  for (int i = 0; i < 257; ++i) many += (many.empty() ? "\"n" : ", \"n") + std::to_string(i) + "\"";
  EXPECT_EQ(
      error_of_services(one("\"hosts\": [" + many + "]")),
      "2:13 'hosts': the services have 257 names with their ports, and at most 256 can be led");
}

}  // namespace
}  // namespace filibuster
