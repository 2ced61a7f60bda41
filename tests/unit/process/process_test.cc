#include "daemon/process/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "daemon/process/session_lane.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

class ProcessTest : public testing::Test {
 protected:
  Result<Process> shell(const std::string& text) {
    SpawnOptions options;
    options.argv = {"/bin/sh", "-c", text};
    options.environment = {"PATH=/usr/bin:/bin", "COLOUR=blue"};
    options.directory = folder_.path();
    options.log_path = log();
    return Process::spawn(options);
  }
  std::string log() const { return folder_.path() + "/log"; }
  TemporaryFolder folder_;
};

TEST(ExitStatusText, NamesTheStatusOrTheSignal) {
  EXPECT_EQ(to_text(ExitStatus{false, 0}), "exit status 0");
  EXPECT_EQ(to_text(ExitStatus{false, 7}), "exit status 7");
  EXPECT_EQ(to_text(ExitStatus{true, SIGSEGV}), "ended by SIGSEGV");
  EXPECT_EQ(to_text(ExitStatus{true, SIGKILL}), "ended by SIGKILL");
  EXPECT_EQ(to_text(ExitStatus{true, 200}), "ended by signal 200");
}

TEST_F(ProcessTest, OutputEnvironmentAndDirectoryAreAsAsked) {
  auto process = shell("echo $COLOUR; pwd >&2; exit 3");
  ASSERT_TRUE(process.ok()) << process.error().message;
  const auto status = process->wait(milliseconds(10000));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(to_text(*status), "exit status 3");
  EXPECT_EQ(last_lines(log(), 5), "blue\n" + folder_.path());
}

TEST_F(ProcessTest, ASignalIsSeenByItsName) {
  auto process = shell("kill -SEGV $$");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(to_text(process->wait(milliseconds(10000)).value()), "ended by SIGSEGV");
}

TEST_F(ProcessTest, IsKilledWithItsWholeGroup) {
  auto process = shell("sleep 1000 & echo $!; wait");
  ASSERT_TRUE(process.ok());
  while (last_lines(log(), 1).empty()) EXPECT_FALSE(process->wait(milliseconds(5)).has_value());
  const pid_t child = static_cast<pid_t>(std::stol(last_lines(log(), 1)));
  ASSERT_NE(process_start_time(child), 0u);
  EXPECT_EQ(to_text(process->stop(milliseconds(10000))), "ended by SIGTERM");
  // An orphan that was killed stays a zombie until init reaps it: it runs no more either way.
  for (int i = 0; i < 1000 && kill(child, 0) == 0; ++i) {
    std::string state;
    if (auto text = read_file("/proc/" + std::to_string(child) + "/stat")) state = text.value();
    if (state.find(") Z") != std::string::npos) break;
    usleep(1000);
  }
  const auto stat = read_file("/proc/" + std::to_string(child) + "/stat");
  EXPECT_TRUE(!stat.ok() || stat.value().find(") Z") != std::string::npos);
}

TEST_F(ProcessTest, OneThatIgnoresSigtermIsKilled) {
  auto process = shell("trap '' TERM; echo ready; while true; do sleep 1000; done");
  ASSERT_TRUE(process.ok());
  while (last_lines(log(), 1).empty()) EXPECT_FALSE(process->wait(milliseconds(5)).has_value());
  EXPECT_EQ(to_text(process->stop(milliseconds(50))), "ended by SIGKILL");
}

TEST_F(ProcessTest, IsAskedToEndOnce) {
  auto process = shell("trap 'echo asked' TERM; echo ready; while true; do sleep 0.02; done");
  ASSERT_TRUE(process.ok());
  while (last_lines(log(), 1).empty()) EXPECT_FALSE(process->wait(milliseconds(5)).has_value());
  process->ask_to_end();
  while (last_lines(log(), 1) != "asked") ASSERT_FALSE(process->wait(milliseconds(5)).has_value());
  EXPECT_EQ(to_text(process->stop(milliseconds(300))), "ended by SIGKILL");
  const std::string text = last_lines(log(), 10);
  EXPECT_EQ(text.find("asked"), text.rfind("asked")) << text;
}

TEST_F(ProcessTest, TheEndOfOneThatNeedNotBeAChildIsSeen) {
  auto process = shell("read _ || sleep 1000");
  ASSERT_TRUE(process.ok());
  EXPECT_FALSE(wait_for_end(process->pid(), process->start_time(), milliseconds(20)));
  EXPECT_TRUE(wait_for_end(process->pid(), process->start_time() + 1, milliseconds(0)))
      << "another process has its number by now";
  process->kill_group(SIGKILL);
  EXPECT_TRUE(wait_for_end(process->pid(), process->start_time(), milliseconds(10000)));
  ASSERT_TRUE(process->wait(milliseconds(10000)).has_value());
  EXPECT_TRUE(wait_for_end(process->pid(), process->start_time(), milliseconds(0))) << "reaped";
}

TEST_F(ProcessTest, WhatIsLeftOfItsGroupMayEndByItselfWhereItIsGivenTheTime) {
  SpawnOptions options;
  options.argv = {
      "/bin/sh", "-c",
      "/bin/sh -c 'trap \"sleep 0.3; echo written; exit\" TERM; echo ready; while true; do "
      "sleep 0.05; done' & wait"};
  options.log_path = log();
  options.rest_grace = milliseconds(30000);
  auto process = Process::spawn(options);
  ASSERT_TRUE(process.ok());
  while (last_lines(log(), 1).empty()) EXPECT_FALSE(process->wait(milliseconds(5)).has_value());
  EXPECT_EQ(to_text(process->stop(milliseconds(30000))), "ended by SIGTERM");
  EXPECT_EQ(last_lines(log(), 1), "written");
}

TEST_F(ProcessTest, WaitingEndsAtItsLimitOrWhenWoken) {
  auto process = shell("sleep 1000");
  ASSERT_TRUE(process.ok());
  EXPECT_FALSE(process->wait(milliseconds(10)).has_value());
  const int wake = eventfd(1, EFD_CLOEXEC);
  EXPECT_FALSE(process->wait(milliseconds(60000), wake).has_value());
  close(wake);
  process->kill_group(SIGKILL);
  EXPECT_TRUE(process->wait(milliseconds(10000)).has_value());
}

TEST_F(ProcessTest, AProgramOrDirectoryThatIsMissingIsNamed) {
  SpawnOptions options;
  options.argv = {"/no/such/program"};
  options.log_path = log();
  const auto program = Process::spawn(options);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().message.find("/no/such/program"), std::string::npos);
  options.argv = {"/bin/true"};
  options.directory = "/no/such/folder";
  const auto directory = Process::spawn(options);
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.error().message.find("/no/such/folder"), std::string::npos);
}

TEST_F(ProcessTest, AChildHasNoDescriptorOfOursAndNoSignalIgnored) {
  const int leaked = dup(1);  // not CLOEXEC
  signal(SIGPIPE, SIG_IGN);
  auto process = shell("ls /proc/self/fd | wc -l; sed -n 's/SigIgn:.//p' /proc/self/status");
  signal(SIGPIPE, SIG_DFL);
  close(leaked);
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->wait(milliseconds(10000)).has_value());
  const std::string output = last_lines(log(), 2);
  // 0, 1, 2 and the folder that ls reads.
  EXPECT_EQ(output.substr(0, 2), "4\n");
  // glibc's posix_spawn leaves its own two signals, 32 and 33, ignored.
  EXPECT_EQ(std::stoull(output.substr(2), nullptr, 16) & ~0x180000000ull, 0u) << output;
}

TEST_F(ProcessTest, StartTimeTellsAProcessFromALaterOneOfItsNumber) {
  EXPECT_NE(process_start_time(getpid()), 0u);
  EXPECT_EQ(process_start_time(-1), 0u);
  auto process = shell("sleep 1000");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->start_time(), process_start_time(process->pid()));
  process->kill_group(SIGKILL);
  process->wait(milliseconds(10000));
  EXPECT_EQ(process_start_time(process->pid()), 0u);
}

TEST_F(ProcessTest, ProcessesLeftBehindAreEndedAndOthersAreNot) {
  auto left = shell("sleep 1000");
  auto other = shell("sleep 1000");
  ASSERT_TRUE(left.ok() && other.ok());
  OwnedProcesses killed_daemon(folder_.path());
  killed_daemon.add("users", left.value());
  // Another process that has this number by now: the start time differs.
  auto text = read_file(folder_.path() + "/processes.json").value();
  auto json = nlohmann::json::parse(text);
  json["processes"].push_back(
      {{"name", "movies"}, {"pid", other->pid()}, {"start_time", other->start_time() + 1}});
  ASSERT_TRUE(write_file(folder_.path() + "/processes.json", json.dump()).ok());
  OwnedProcesses next(folder_.path());
  const auto ended = next.end_leftovers();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0], "users (pid " + std::to_string(left->pid()) + ")");
  EXPECT_EQ(to_text(left->wait(milliseconds(10000)).value()), "ended by SIGTERM");
  EXPECT_FALSE(other->poll_exit().has_value());
  EXPECT_TRUE(OwnedProcesses(folder_.path()).end_leftovers().empty());
  other->stop(milliseconds(0));
}

TEST_F(ProcessTest, LastLinesAreTheEndOfAFile) {
  const std::string file = folder_.write("text", "one\ntwo\nthree\n\n");
  EXPECT_EQ(last_lines(file, 1), "three");
  EXPECT_EQ(last_lines(file, 2), "two\nthree");
  EXPECT_EQ(last_lines(file, 9), "one\ntwo\nthree");
  EXPECT_EQ(last_lines(folder_.write("empty", ""), 3), "");
  EXPECT_EQ(last_lines(folder_.write("blank", "\n\n"), 3), "");
  EXPECT_EQ(last_lines("/no/such/file", 3), "");
}

}  // namespace
}  // namespace filibuster
