#include "daemon/attach/find.h"

#include <gtest/gtest.h>

#include "tests/unit/attach/fake_proc.h"

namespace filibuster::attach {
namespace {

using By = AttachConfig::By;

ServiceConfig service(const std::string& name, AttachConfig attach) {
  ServiceConfig out;
  out.name = name;
  out.attach = std::move(attach);
  return out;
}

class Find : public testing::Test {
 protected:
  // The pids of the first service; an error's text as the only element.
  std::string find(std::vector<ServiceConfig> services) {
    Config config;
    config.services = std::move(services);
    const auto found = find_services(config, fake_.proc());
    if (!found) return found.error().message;
    std::string out;
    for (const FoundService& each : found.value()) {
      out += (out.empty() ? "" : "; ") + each.name + " " + each.program + ":";
      for (const FoundProcess& process : each.processes) out += " " + std::to_string(process.pid);
      for (const uint16_t port : each.ports()) out += " :" + std::to_string(port);
    }
    return out;
  }
  FakeProc fake_;
};

TEST_F(Find, APidBringsItsDescendantsAndTheirPorts) {
  fake_.add({.pid = 10});
  fake_.add({.pid = 11, .parent = 10, .sockets = {77}});
  fake_.add({.pid = 12, .parent = 11});
  fake_.add({.pid = 13});
  fake_.socket("0100007F:1F90", 77);
  EXPECT_EQ(find({service("users", {By::kPid, 10, ""})}), "users users: 10 11 12 :8080");
}

TEST_F(Find, TheStartTimeIsKept) {
  fake_.add({.pid = 10});
  Config config;
  config.services = {service("users", {By::kPid, 10, ""})};
  const auto found = find_services(config, fake_.proc());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value()[0].processes, (std::vector<FoundProcess>{{10, 1010}}));
}

TEST_F(Find, APidThatIsGoneIsNamed) {
  EXPECT_EQ(find({service("users", {By::kPid, 99, ""})}),
            "service 'users' (attached by pid 99): there is no process with pid 99");
}

TEST_F(Find, APortBringsAllThatHoldItsSocket) {
  fake_.add({.pid = 10, .sockets = {77}});
  fake_.add({.pid = 11, .parent = 10, .sockets = {77}});
  fake_.add({.pid = 12, .sockets = {78}});
  fake_.socket("00000000:1F90", 77);
  fake_.socket("00000000:1F91", 78);
  EXPECT_EQ(find({service("users", {By::kPort, 8080, ""})}), "users users: 10 11 :8080");
}

TEST_F(Find, APortWhereNobodyListensIsNamed) {
  fake_.socket("00000000:1F90", 77, "01");
  EXPECT_NE(find({service("users", {By::kPort, 8080, ""})}).find("nobody listens at port 8080"),
            std::string::npos);
}

TEST_F(Find, TheProcessThatStartsServicesIsNotTheService) {
  fake_.add({.pid = 10, .sockets = {77}});
  std::filesystem::create_symlink("socket:[77]", fake_.path() + "/1/fd/9");
  fake_.socket("00000000:1F90", 77);
  EXPECT_EQ(find({service("users", {By::kPort, 8080, ""})}), "users users: 10 :8080");
}

TEST_F(Find, ACgroupBringsWhatIsInItAndBelow) {
  fake_.add({.pid = 10});
  fake_.add({.pid = 11});
  fake_.add({.pid = 12, .parent = 11});
  fake_.cgroup("shop", "10\n");
  fake_.cgroup("shop/inner", "11\n");
  EXPECT_EQ(find({service("users", {By::kCgroup, 0, "/shop"})}), "users users: 10 11");
  EXPECT_NE(find({service("users", {By::kCgroup, 0, "/none"})}).find("there is no cgroup"),
            std::string::npos);
}

TEST_F(Find, ANameIsThatOfTheFileOrOfTheScript) {
  fake_.add({.pid = 10,
             .executable = "/usr/bin/python3.11",
             .arguments = {"python3", "-u", "/srv/users.py", "--port", "1"}});
  fake_.add({.pid = 11, .executable = "/srv/users-go", .arguments = {"./users-go"}});
  fake_.add({.pid = 12, .executable = "/srv/movies", .arguments = {"movies", "users.py"}});
  EXPECT_EQ(find({service("users", {By::kName, 0, "users.py"})}),
            "users users.py: 10 12");  // its first argument is a name, too
  EXPECT_EQ(find({service("users", {By::kName, 0, "users-*"})}), "users users-go: 11");
  EXPECT_NE(find({service("users", {By::kName, 0, "nobody"})}).find("no process has a name"),
            std::string::npos);
}

TEST_F(Find, APatternDoesNotMeanTheSessionItself) {
  fake_.add({.pid = 10, .parent = 2, .executable = "/usr/bin/filibuster-proxy"});
  EXPECT_NE(find({service("users", {By::kName, 0, "filibuster*"})}).find("no process has a name"),
            std::string::npos);
}

TEST_F(Find, AProcessBelongsToTheNearestThatIsNamed) {
  fake_.add({.pid = 10, .executable = "/bin/supervisor"});
  fake_.add({.pid = 11, .parent = 10, .executable = "/bin/movies"});
  fake_.add({.pid = 12, .parent = 11, .executable = "/bin/worker"});
  EXPECT_EQ(find({service("users", {By::kPid, 10, ""}), service("movies", {By::kPid, 11, ""})}),
            "users supervisor: 10; movies movies: 11 12");
}

TEST_F(Find, AProcessCannotBeTwoServices) {
  fake_.add({.pid = 10, .sockets = {77}});
  fake_.socket("00000000:1F90", 77);
  EXPECT_NE(find({service("users", {By::kPid, 10, ""}), service("movies", {By::kPort, 8080, ""})})
                .find("pid 10 is service 'users', too"),
            std::string::npos);
}

TEST_F(Find, WhatCannotBeReachedIsNamed) {
  fake_.add({.pid = 10, .executable = ""});
  fake_.add({.pid = 11, .net = "net:[2]"});
  fake_.add({.pid = 12, .maps = "7f0 r-xp 0 0:0 1  /usr/lib/libfilibuster.so\n"});
  const auto error = [&](uint32_t pid) { return find({service("users", {By::kPid, pid, ""})}); };
  EXPECT_NE(error(10).find("thread of the kernel"), std::string::npos);
  EXPECT_NE(error(11).find("another network namespace"), std::string::npos);
  EXPECT_NE(error(12).find("libfilibuster.so already"), std::string::npos);
  EXPECT_NE(error(1).find("pid 1"), std::string::npos);
}

TEST_F(Find, OnlyThePortsOfTheRowAreThoseOfTheService) {
  fake_.add({.pid = 10, .sockets = {77, 78}});
  fake_.socket("00000000:1F90", 77);
  fake_.socket("00000000:1F91", 78);
  ServiceConfig users = service("users", {By::kPid, 10, ""});
  users.ports = {{"users", 8081}};
  EXPECT_EQ(find({users}), "users users: 10 :8081");
  users.ports = {{"users", 8082}};
  EXPECT_NE(find({users}).find("does not listen at its port 8082"), std::string::npos);
}

TEST_F(Find, EachAddressBecomesOneRowOfTheTargets) {
  fake_.add({.pid = 10, .sockets = {77, 78, 79}});
  fake_.socket("00000000:1F90", 77);
  fake_.socket("00000000000000000000000000000000:1F90", 78);
  fake_.socket("0500000A:1F91", 79);
  Config config;
  config.services = {service("users", {By::kPid, 10, ""})};
  const auto found = find_services(config, fake_.proc());
  ASSERT_TRUE(found.ok());
  const std::vector<TargetRow> rows = target_rows(found.value()[0]);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].host, "");  // everywhere
  EXPECT_EQ(rows[0].port, 8080);
  EXPECT_EQ(rows[1].host, "10.0.0.5");
  EXPECT_EQ(rows[1].port, 8081);
}

TEST(Kept, APidBecomesItsPortOrElseItsName) {
  FoundService found{"users", {{10, 1}}, {{77, "127.0.0.1", 8080}}, "users.py"};
  const AttachConfig pid{By::kPid, 10, ""};
  EXPECT_EQ(row_to_keep(pid, found), (AttachConfig{By::kPort, 8080, ""}));
  found.listens.clear();
  EXPECT_EQ(row_to_keep(pid, found), (AttachConfig{By::kName, 0, "users.py"}));
  const AttachConfig port{By::kPort, 9, ""};
  EXPECT_EQ(row_to_keep(port, found), port);
}

TEST(Kept, TheTextOfAConfigurationChangesOnlyWhereItHasPids) {
  const FoundService users{"users", {{10, 1}}, {{77, "127.0.0.1", 8080}}, "users"};
  const std::string other =
      R"({"version": 1, "services": [{"name": "users", "attach": {"port": 8080}}]})";
  EXPECT_EQ(text_to_keep(other, {users}), other);
  const std::string kept = text_to_keep(
      R"({"services": [{"name": "users", "attach": {"pid": 10}}, {"name": "b", "attach": {"pid": 11}}]})",
      {users});
  EXPECT_NE(kept.find("\"port\": 8080"), std::string::npos);
  EXPECT_NE(kept.find("\"pid\": 11"), std::string::npos);
}

}  // namespace
}  // namespace filibuster::attach
