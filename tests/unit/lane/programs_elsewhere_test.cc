#include "daemon/lane/programs_elsewhere.h"

#include <gtest/gtest.h>

#include "tests/unit/attach/fake_proc.h"

namespace filibuster {
namespace {

using attach::FakeProc;

constexpr const char kMaps[] = "7f00-7f01 r-xp 00000000 00:01 7 /opt/lib/libfilibuster.so\n";
constexpr const char kUsers[] = "FILIBUSTER_SERVICE=users";

class ProgramsElsewhere : public testing::Test {
 protected:
  FakeProc::Process users(pid_t pid, std::vector<std::string> more = {}) {
    FakeProc::Process out{.pid = pid, .executable = "/usr/bin/python3", .maps = kMaps};
    out.environment = {"HOME=/root", kUsers};
    out.environment.insert(out.environment.end(), more.begin(), more.end());
    out.directory = folder_.path();
    return out;
  }
  std::vector<pid_t> found(const std::string& service = "users",
                           const std::string& application = "/home/me/shop") {
    std::vector<pid_t> out;
    for (const ProgramElsewhere& one : programs_elsewhere(proc_.proc(), service, application))
      out.push_back(one.pid);
    return out;
  }

  FakeProc proc_;
  TemporaryFolder folder_;
};

TEST_F(ProgramsElsewhere, AreThoseThatCarryTheLibraryAndCallThemselvesSo) {
  proc_.add(users(7));
  FakeProc::Process other = users(8);
  other.environment = {"FILIBUSTER_SERVICE=users2"};
  proc_.add(other);
  FakeProc::Process plain = users(9);
  plain.maps = "7f00-7f01 r-xp 00000000 00:01 7 /opt/lib/libc.so.6\n";
  proc_.add(plain);
  FakeProc::Process by_its_executable = users(10);
  by_its_executable.environment = {};
  by_its_executable.executable = "/opt/users";
  proc_.add(by_its_executable);
  EXPECT_EQ(found(), (std::vector<pid_t>{7, 10}));
  EXPECT_EQ(found("python3"), std::vector<pid_t>());
}

TEST_F(ProgramsElsewhere, AreNotThoseOfASession) {
  proc_.add(users(7, {"FILIBUSTER_DAEMON=unix:/tmp/agents/agent.sock"}));
  EXPECT_TRUE(found().empty());
}

TEST_F(ProgramsElsewhere, SayToWhichApplicationTheyBelong) {
  proc_.add(users(7));
  proc_.add(users(8, {"FILIBUSTER_APPLICATION=cart/"}));
  FakeProc::Process contained = users(9);
  contained.mounts = "mnt:[2]";
  proc_.add(contained);
  FakeProc::Process gone = users(10);
  gone.directory += "/gone (deleted)";
  proc_.add(gone);
  std::vector<std::string> applications;
  for (const ProgramElsewhere& one : programs_elsewhere(proc_.proc(), "users", "/home/me/shop"))
    applications.push_back(one.application);
  EXPECT_EQ(applications, (std::vector<std::string>{folder_.path(), "cart", "", ""}));
}

TEST_F(ProgramsElsewhere, AreNobodyWhereOneOfTheOwnApplicationOnlyWaits) {
  proc_.add(users(7, {"FILIBUSTER_APPLICATION=cart"}));
  EXPECT_EQ(found("users", "shop"), std::vector<pid_t>{7});
  proc_.add(users(8, {"FILIBUSTER_APPLICATION=shop"}));
  EXPECT_TRUE(found("users", "shop").empty());
}

TEST_F(ProgramsElsewhere, OfAProgramAndItsWorkersTheFirstIsNamed) {
  proc_.add(users(7));
  FakeProc::Process worker = users(8);
  worker.parent = 7;
  proc_.add(worker);
  EXPECT_EQ(found(), std::vector<pid_t>{7});
}

TEST_F(ProgramsElsewhere, AreNamedForServicesThatSomebodyElseStartsAndThatHaveNotJoined) {
  proc_.add(users(7, {"FILIBUSTER_APPLICATION=cart"}));
  Config config;
  config.application = "shop";
  ServiceConfig service;
  service.name = "users";
  config.services = {service};
  const auto lines = who_may_be_meant(proc_.proc(), config, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "service 'users', which somebody else starts, has not joined. A program that calls "
            "itself so belongs to another application: pid 7 (/usr/bin/python3) to cart. If it is "
            "meant, start it with FILIBUSTER_APPLICATION=shop");
  AgentRecord joined;
  joined.service = "users";
  EXPECT_TRUE(who_may_be_meant(proc_.proc(), config, {joined}).empty());
  config.services[0].command = Command{{"users"}};
  EXPECT_TRUE(who_may_be_meant(proc_.proc(), config, {}).empty());
  config.services[0].command = {};
  config.services[0].third_party = true;
  EXPECT_TRUE(who_may_be_meant(proc_.proc(), config, {}).empty());
}

}  // namespace
}  // namespace filibuster
