#include "daemon/attach/proc.h"

#include <gtest/gtest.h>

#include "tests/unit/attach/fake_proc.h"

namespace filibuster::attach {
namespace {

constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0\n"
    "   1: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 78 1 0\n"
    "   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 79 1 0\n"
    "   3: 0100007F 00000000:0000 0A 0 0 0 0 0 80\n"
    "   4: 0100007F:1F92 00000000:0000 0A 00000000:00000000 00:00000000\n";

TEST(Listening, OnlyListeningSocketsCountAndBrokenLinesAreLeftOut) {
  const std::vector<ListeningSocket> expected{{77, "127.0.0.1", 8080}, {78, "0.0.0.0", 8081}};
  EXPECT_EQ(parse_listening(kTable), expected);
}

TEST(Listening, Ipv6AddressesAreFourWordsOfThisMachine) {
  const auto found = parse_listening(
      "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 5\n"
      "   1: 0000000000000000FFFF00000100007F:0051 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 6\n"
      "   2: 00000000000000000000000000000000:0052 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 7\n");
  const std::vector<ListeningSocket> expected{
      {5, "::1", 80}, {6, "::ffff:127.0.0.1", 81}, {7, "::", 82}};
  EXPECT_EQ(found, expected);
}

TEST(Stat, ANameWithParenthesesAndBlanksIsSkipped) {
  ProcessRow row;
  ASSERT_TRUE(parse_stat("42 (a) b (c) S 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0", &row));
  EXPECT_EQ(row.parent, 7);
  EXPECT_EQ(row.state, 'S');
  EXPECT_EQ(row.start_time, 123456u);
}

TEST(Stat, AProcessGoesOnWithTheOtherThreadsOfItsFirstOne) {
  ProcessRow row;
  ASSERT_TRUE(parse_stat("42 (a) Z 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 123456 0 0", &row));
  EXPECT_FALSE(row.has_ended());
  ASSERT_TRUE(parse_stat("42 (a) Z 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0", &row));
  EXPECT_TRUE(row.has_ended());
}

TEST(Stat, WhatIsNoStatIsRefused) {
  ProcessRow row;
  EXPECT_FALSE(parse_stat("", &row));
  EXPECT_FALSE(parse_stat("42 (a) S 7 1 1", &row));
}

TEST(Stat, ThisProcessHasTheStartTimeThatTheKernelSays) {
  const Proc proc;
  const ProcessTable all = proc.processes();
  ASSERT_TRUE(all.contains(getpid()));
  EXPECT_EQ(all.at(getpid()).parent, getppid());
  EXPECT_EQ(proc.self(), getpid());
  EXPECT_FALSE(proc.executable(getpid()).empty());
}

TEST(Listening, AProcessListensAtTheSocketsThatItHolds) {
  FakeProc fake;
  fake.add({.pid = 10, .sockets = {77, 79}});
  fake.add({.pid = 11, .sockets = {78}});
  fake.socket("0100007F:1F90", 77);
  fake.socket("0100007F:1F91", 78);
  fake.socket("0100007F:1F90", 79, "01");
  const std::vector<ListeningSocket> expected{{77, "127.0.0.1", 8080}};
  const Proc proc = fake.proc();
  EXPECT_EQ(Listening(proc).of(10), expected);
}

TEST(Listening, TheTablesOfANetworkNamespaceAreReadOnce) {
  FakeProc fake;
  fake.add({.pid = 10, .sockets = {77}});
  fake.add({.pid = 11, .sockets = {78}});
  fake.add({.pid = 12, .sockets = {78}, .net = "net:[2]"});
  fake.socket("0100007F:1F90", 77);
  const Proc proc = fake.proc();
  Listening listening(proc);
  EXPECT_EQ(listening.of(10).size(), 1u);
  fake.socket("0100007F:1F91", 78);
  EXPECT_TRUE(listening.of(11).empty());
  EXPECT_EQ(listening.of(12).size(), 1u);
}

TEST(Processes, ThoseThatHaveEndedAreLeftOut) {
  FakeProc fake;
  fake.add({.pid = 10, .state = 'Z'});
  fake.add({.pid = 11});
  const ProcessTable all = fake.proc().processes();
  EXPECT_FALSE(all.contains(10));
  EXPECT_TRUE(all.contains(11));
}

}  // namespace
}  // namespace filibuster::attach
