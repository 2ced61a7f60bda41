#include "daemon/agents/target_table.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

namespace filibuster::test {
namespace {

Listen listener(TargetKind kind, uint16_t port, const char* address = nullptr) {
  Listen event;
  event.kind = static_cast<uint8_t>(kind);
  event.port = port;
  if (address != nullptr) {
    ::inet_pton(kind == TargetKind::kIpv4 ? AF_INET : AF_INET6, address, event.address);
  }
  return event;
}

std::string name_of(const Target128& target) {
  return {target.service, target.service_size};
}

TEST(TargetTable, LoopbackAndWildcardListenersAreOneKind) {
  for (const Listen& event :
       {listener(TargetKind::kLoopback, 80), listener(TargetKind::kIpv4, 80, "0.0.0.0"),
        listener(TargetKind::kIpv4, 80, "127.0.1.1"), listener(TargetKind::kIpv6, 80, "::"),
        listener(TargetKind::kIpv6, 80, "::1"),
        listener(TargetKind::kIpv6, 80, "::ffff:127.0.0.1")}) {
    TargetTable table;
    std::string note;
    EXPECT_TRUE(table.report(event, 1, "users", &note));
    ASSERT_EQ(table.rows().size(), 1u);
    EXPECT_EQ(table.rows()[0].kind, TargetKind::kLoopback);
    EXPECT_EQ(table.rows()[0].port, 80);
    EXPECT_EQ(note, "");
  }
}

TEST(TargetTable, ConfiguredHostsAreWrittenLikeReportedOnes) {
  TargetTable table;
  std::string note;
  EXPECT_TRUE(table.configure({"localhost", 1, "", "a", kTargetInApplication}, &note));
  EXPECT_TRUE(table.configure({"10.1.2.3", 2, "", "b", kTargetThirdParty}, &note));
  EXPECT_TRUE(table.configure({"::ffff:10.1.2.3", 3, "", "c", 0}, &note));
  EXPECT_TRUE(table.configure({"fe80::1", 4, "", "d", 0}, &note));
  EXPECT_TRUE(table.configure({"", 0, "/tmp/x.sock", "e", 0}, &note));
  EXPECT_EQ(note, "");
  const auto rows = table.rows();
  EXPECT_EQ(rows[0].kind, TargetKind::kLoopback);
  EXPECT_EQ(rows[1].kind, TargetKind::kIpv4);
  EXPECT_EQ(rows[1].address[3], 3);
  EXPECT_EQ(rows[2].kind, TargetKind::kIpv4);
  EXPECT_EQ(rows[3].kind, TargetKind::kIpv6);
  EXPECT_EQ(rows[4].kind, TargetKind::kUnix);
  Listen event = listener(TargetKind::kUnix, 0);
  event.path = "/tmp/x.sock";
  EXPECT_FALSE(table.report(event, 1, "e", &note)) << "the same socket";
  EXPECT_FALSE(table.configure({"api.example.org", 443, "", "api", 0}, &note));
  EXPECT_NE(note.find("Host field"), std::string::npos);
}

TEST(TargetTable, TheConfigurationWinsWhateverComesFirst) {
  TargetTable table;
  std::string note;
  EXPECT_TRUE(table.report(listener(TargetKind::kLoopback, 80), 1, "python3", &note));
  EXPECT_TRUE(table.configure({"", 80, "", "users", kTargetInApplication}, &note));
  EXPECT_FALSE(table.report(listener(TargetKind::kLoopback, 80), 1, "python3", &note));
  EXPECT_NE(note, "");
  note.clear();
  EXPECT_FALSE(table.report(listener(TargetKind::kIpv4, 80, "127.0.0.1"), 1, "python3", &note));
  EXPECT_NE(note.find("port 80 of 127.0.0.1 is configured as users"), std::string::npos) << note;
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(name_of(table.rows()[0]), "users");
}

TEST(TargetTable, LoopbackAddressesAreToldApart) {
  TargetTable table;
  std::string note;
  EXPECT_TRUE(table.report(listener(TargetKind::kIpv4, 80, "127.0.0.21"), 1, "users", &note));
  EXPECT_TRUE(table.report(listener(TargetKind::kIpv4, 80, "127.0.0.22"), 2, "movies", &note));
  EXPECT_TRUE(table.report(listener(TargetKind::kIpv4, 80, "0.0.0.0"), 3, "all", &note));
  EXPECT_TRUE(table.report(listener(TargetKind::kIpv6, 80, "::1"), 4, "localhost", &note));
  EXPECT_FALSE(table.report(listener(TargetKind::kIpv4, 80, "127.0.0.1"), 4, "localhost", &note))
      << "the same";
  EXPECT_EQ(note, "");
  ASSERT_EQ(table.rows().size(), 4u);
  EXPECT_EQ(table.rows()[0].address[3], 21);
  // A service without a host stands for 127.0.0.1, not for what listens elsewhere.
  EXPECT_TRUE(table.configure({"", 80, "", "configured", kTargetInApplication}, &note));
  EXPECT_FALSE(table.report(listener(TargetKind::kIpv4, 80, "127.0.0.22"), 2, "movies", &note));
  EXPECT_EQ(note, "");
}

TEST(TargetTable, OfTwoServicesAtOneAddressTheLastIsUsedAndSaid) {
  TargetTable table;
  std::string note;
  EXPECT_TRUE(table.report(listener(TargetKind::kLoopback, 80), 1, "users", &note));
  EXPECT_FALSE(table.report(listener(TargetKind::kLoopback, 80), 2, "users", &note)) << "a worker";
  EXPECT_EQ(note, "");
  EXPECT_TRUE(table.report(listener(TargetKind::kLoopback, 80), 3, "movies", &note));
  EXPECT_NE(note.find("users, then movies"), std::string::npos);
  EXPECT_EQ(name_of(table.rows()[0]), "movies");
}

TEST(TargetTable, AFullTableMakesRoomFromEndedProcessesOnly) {
  TargetTable table;
  std::string note;
  for (uint32_t i = 0; i < kMaxTargets; ++i) {
    const auto port = static_cast<uint16_t>(1000 + i);
    ASSERT_TRUE(table.report(listener(TargetKind::kLoopback, port), i + 1, "s", &note));
  }
  EXPECT_FALSE(table.report(listener(TargetKind::kLoopback, 1), 9999, "s", &note));
  EXPECT_NE(note.find("full"), std::string::npos);
  table.agent_ended(7);
  EXPECT_TRUE(table.report(listener(TargetKind::kLoopback, 1), 9999, "s", &note));
  EXPECT_EQ(table.size(), kMaxTargets);
}

TEST(TargetTable, AnUnknownKindChangesNothing) {
  TargetTable table;
  std::string note;
  EXPECT_FALSE(table.report(listener(static_cast<TargetKind>(77), 80), 1, "s", &note));
  EXPECT_NE(note, "");
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace filibuster::test
