#include "daemon/process/orphans.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "daemon/base/process_table.h"
#include "daemon/process/process.h"
#include "daemon/process/session_lane.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLimit{10000};

class OrphansTest : public testing::Test {
 protected:
  OrphansTest() { become_parent_of_orphans(); }
  ~OrphansTest() override {
    end_processes([] { return orphans(); }, milliseconds(0));
  }
  Process shell(const std::string& text, const std::string& owner) {
    SpawnOptions options;
    options.argv = {"/bin/sh", "-c", text};
    options.environment = {"PATH=/usr/bin:/bin", std::string(kOwnerVariable) + "=" + owner};
    options.log_path = log_;
    return Process::spawn(options).value();
  }
  // Leaves `command` running in a session of its own. The shell that starts it waits until it is there: its group is
  // killed when it ends.
  void leave(const std::string& command, const std::string& owner) {
    const std::string pipe = folder_.path() + "/pipe" + std::to_string(++left_);
    Process parent = shell("mkfifo " + pipe + "; setsid sh -c 'echo > " + pipe + "; exec " +
                               command + "' & read _ < " + pipe + "; exit 0",
                           owner);
    EXPECT_EQ(to_text(parent.wait(kLimit).value()), "exit status 0");
  }
  // As soon as it runs its own program, and no shell.
  MarkedProcess left(const std::string& program) {
    while (true) {
      for (const MarkedProcess& orphan : orphans())
        if (orphan.program == program) return orphan;
      usleep(1000);
    }
  }
  // Of this test alone: marks are looked for on the whole machine.
  const std::string mark_ = make_owner_mark(), other_mark_ = make_owner_mark();
  TemporaryFolder folder_;
  std::string log_ = folder_.path() + "/log";
  int left_ = 0;
};

TEST(ProcessStat, AProcessGoesOnWithTheOtherThreadsOfItsFirstOne) {
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    // Only this thread ends.
    syscall(SYS_exit, 0);
  }
  std::optional<ProcessStat> stat;
  do {
    stat = process_stat(child);
    ASSERT_TRUE(stat);
  } while (stat->state != 'Z');
  EXPECT_FALSE(stat->has_ended());
  kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(process_stat(child)->has_ended());
  waitpid(child, nullptr, 0);
}

TEST_F(OrphansTest, AreToldApartByTheirMarks) {
  leave("sleep 1000", mark_ + ":users");
  const MarkedProcess users = left("sleep");
  EXPECT_EQ(users.mark, mark_);
  EXPECT_EQ(users.started_by, "users");
  leave("env -i tail -f /dev/null", mark_ + ":test");
  EXPECT_EQ(left("tail").mark, "");
  SessionLane first, second;
  first.owner_mark = other_mark_;
  second.owner_mark = mark_;
  second.number = 1;
  EXPECT_TRUE(end_orphans(second, "movies").empty());
  EXPECT_EQ(orphans().size(), 2u) << "of another service";
  EXPECT_TRUE(end_orphans(second).empty());
  ASSERT_EQ(orphans().size(), 1u)
      << "one without a mark may be of any lane, so it ends with the first";
  EXPECT_EQ(orphans()[0].program, "tail");
  EXPECT_TRUE(end_orphans(first).empty());
  EXPECT_TRUE(orphans().empty());
}

TEST_F(OrphansTest, WhatIsStartedHereIsNone) {
  Process own = shell("sleep 1000", mark_ + ":users");
  SessionLane lane;
  lane.owner_mark = mark_;
  EXPECT_TRUE(end_orphans(lane).empty());
  EXPECT_FALSE(own.poll_exit().has_value());
  own.kill_group(SIGKILL);
  EXPECT_TRUE(own.wait(kLimit).has_value());
}

TEST_F(OrphansTest, TheirChildrenEndWithThemAndSoDoThoseThatGoOnAtSigterm) {
  const std::string script = folder_.write(
      "stubborn", "trap '' TERM; setsid sleep 1000 & setsid sleep 1001 & wait; exec sleep 1002\n");
  leave("sh " + script, mark_ + ":test");
  const pid_t parent = left("sh").pid;
  std::vector<MarkedProcess> all;
  while (all.size() < 3) all = processes_marked({mark_});
  const Ended ended = end_processes([] { return orphans(); }, milliseconds(50));
  EXPECT_TRUE(ended.alive.empty());
  EXPECT_GE(ended.all.size(), 1u);
  EXPECT_EQ(ended.all[0].pid, parent);
  EXPECT_TRUE(processes_marked({mark_}).empty());
}

TEST_F(OrphansTest, AStatusIsReadByWhoStartedTheProcess) {
  std::atomic<bool> over{false};
  std::thread reaper([&] {
    while (!over) reap_orphans();
  });
  for (int i = 0; i < 100; ++i) {
    Process own = shell("exit 7", mark_ + ":test");
    const auto status = own.wait(kLimit);
    EXPECT_EQ(status ? to_text(*status) : "read by somebody else", "exit status 7");
    if (!status) break;
  }
  over = true;
  reaper.join();
}

TEST_F(OrphansTest, TheNextDaemonEndsWhatHasTheMarkOfAKilledOne) {
  OwnedProcesses killed(folder_.path());
  killed.set_mark(mark_);
  leave("sleep 1000", mark_ + ":users");
  leave("env -i tail -f /dev/null", mark_ + ":test");
  leave("sh " + folder_.write("other", "while true; do sleep 1003; done\n"),
        other_mark_ + ":users");
  const MarkedProcess marked = left("sleep"), bare = left("tail");
  const pid_t other = left("sh").pid;
  killed.keep_orphans();
  const auto ended = OwnedProcesses(folder_.path()).end_leftovers();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0], "users (pid " + std::to_string(marked.pid) + ")");
  EXPECT_EQ(ended[1], "tail (pid " + std::to_string(bare.pid) + ")");
  EXPECT_TRUE(process_stat(other).has_value());
  EXPECT_TRUE(OwnedProcesses(folder_.path()).end_leftovers().empty());
}

}  // namespace
}  // namespace filibuster
