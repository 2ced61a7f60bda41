#include "daemon/process/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "daemon/base/descriptors.h"
#include "daemon/base/process_table.h"
#include "daemon/base/random.h"
#include "daemon/process/children.h"
#include "daemon/process/pidfd.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kKilled{2000};  // from SIGKILL until we give up

MarkedProcess describe(pid_t pid, const ProcessStat& stat) {
  MarkedProcess out;
  out.pid = pid;
  out.start_time = stat.start_time;
  out.program = stat.name;
  out.leads_group = stat.group == pid;
  const std::string owner = environment_of(pid, kOwnerVariable);
  if (const size_t colon = owner.find(':'); colon != std::string::npos) {
    out.mark = owner.substr(0, colon);
    out.started_by = owner.substr(colon + 1);
  }
  return out;
}

// The signal reaches this process and no other that has its number by now: the start time is compared while the
// pidfd is open, and from then on it means one process.
UniqueFd signal_process(const MarkedProcess& process, int number) {
  UniqueFd pidfd(pidfd_open(process.pid, 0));
  const auto stat = process_stat(process.pid);
  if (!pidfd.valid() || !stat || stat->start_time != process.start_time) return UniqueFd();
  if (number == 0) return pidfd;
  // Members of its group that are marked are found by themselves, and many programs end at once at a second SIGTERM,
  // without writing what they still have to write.
  const bool to_group = process.leads_group && (number == SIGKILL || process.mark.empty());
  if (!to_group || kill(-process.pid, number) != 0)
    pidfd_send_signal(pidfd.get(), number, nullptr, 0);
  return pidfd;
}

}  // namespace

OwnChildren& OwnChildren::get() {
  static OwnChildren children;
  return children;
}

void OwnChildren::add(pid_t pid) {
  const std::lock_guard lock(mutex_);
  pids_.insert(pid);
}

void OwnChildren::remove(pid_t pid) {
  const std::lock_guard lock(mutex_);
  pids_.erase(pid);
}

bool OwnChildren::contains(pid_t pid) {
  const std::lock_guard lock(mutex_);
  return pids_.contains(pid);
}

std::string make_owner_mark() {
  return random_hexadecimal();
}

std::string to_text(const MarkedProcess& process) {
  return (process.started_by.empty() ? process.program : process.started_by) + " (pid " +
         std::to_string(process.pid) + ")";
}

void become_parent_of_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reap_orphans() {
  const auto lock = OwnChildren::get().standing_still();
  for (const pid_t pid : children_of_this_process()) {
    if (OwnChildren::get().contains(pid)) continue;
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
  }
}

std::vector<MarkedProcess> orphans() {
  std::vector<MarkedProcess> out;
  const auto lock = OwnChildren::get().standing_still();
  for (const pid_t pid : children_of_this_process()) {
    if (OwnChildren::get().contains(pid)) continue;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid)
      continue;
    const auto stat = process_stat(pid);
    if (stat && !stat->has_ended()) out.push_back(describe(pid, *stat));
  }
  return out;
}

std::vector<MarkedProcess> processes_marked(const std::set<std::string>& marks) {
  std::vector<MarkedProcess> out;
  if (marks.empty()) return out;
  for_each_process([&](pid_t pid) {
    // The environment is empty of who has ended, and cannot be read of who belongs to somebody else.
    const std::string owner = environment_of(pid, kOwnerVariable);
    if (!marks.contains(owner.substr(0, owner.find(':')))) return;
    const auto stat = process_stat(pid);
    if (!stat || stat->has_ended()) return;
    MarkedProcess found = describe(pid, *stat);
    if (marks.contains(found.mark)) out.push_back(std::move(found));
  });
  return out;
}

Ended end_processes(const std::function<std::vector<MarkedProcess>()>& find, milliseconds grace) {
  Ended out;
  std::set<std::pair<pid_t, uint64_t>> asked;
  const auto kill_at = Clock::now() + grace, give_up_at = kill_at + kKilled;
  while (true) {
    out.alive = find();
    const auto now = Clock::now();
    if (out.alive.empty() || now >= give_up_at) return out;
    const bool kills = now >= kill_at;
    std::vector<UniqueFd> pidfds;
    for (const MarkedProcess& process : out.alive) {
      const bool is_new = asked.emplace(process.pid, process.start_time).second;
      if (is_new) out.all.push_back(process);
      UniqueFd pidfd = signal_process(process, kills ? SIGKILL : is_new ? SIGTERM : 0);
      if (pidfd.valid()) pidfds.push_back(std::move(pidfd));
    }
    // The end of any of them may make orphans of its children.
    std::vector<pollfd> watched;
    for (const UniqueFd& pidfd : pidfds) watched.push_back({pidfd.get(), POLLIN, 0});
    const auto until = kills ? give_up_at : kill_at;
    const auto left = std::chrono::ceil<milliseconds>(until - now).count();
    if (!watched.empty())
      poll(watched.data(), watched.size(), static_cast<int>(std::min<int64_t>(left, INT_MAX)));
  }
}

}  // namespace filibuster
