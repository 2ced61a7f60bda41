#include "daemon/attach/stopped_start.h"

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "daemon/attach/proc.h"

namespace filibuster::attach {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kStep{1};  // between two looks at the child
constexpr milliseconds kKilled{2000};

// Programs that only start another one in their place.
bool only_starts_another(const std::string& executable) {
  constexpr std::string_view kNames[] = {"sh",   "dash",  "bash",   "busybox", "env",
                                         "nice", "nohup", "setsid", "stdbuf",  "ionice"};
  const std::string name = std::filesystem::path(executable).filename().string();
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

class Tracer {
 public:
  Tracer(pid_t pid, Clock::time_point deadline, int wake_fd)
      : pid_(pid), deadline_(deadline), wake_fd_(wake_fd) {}

  // Until it stands where its program begins. Error: why not.
  Result<void> run() {
    if (auto stopped = wait_stop(); !stopped) return stopped.error();
    const long what = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (ptrace(PTRACE_SEIZE, pid_, nullptr, what) != 0)
      return Error{std::string("cannot be stopped at its start: ptrace: ") + strerror(errno)};
    kill(pid_, SIGCONT);
    while (true) {
      auto stopped = wait_stop();
      if (!stopped) return stopped.error();
      const int event = stopped.value() >> 16;
      if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) return stop_with_child();
      if (event == PTRACE_EVENT_EXEC && !only_starts_another(Proc().executable(pid_)))
        return stop_here();
      // At a group stop it goes on; the signal that it was about to get, it gets.
      const int signal_number = (stopped.value() >> 8) & 0xff;
      const bool passes = event == 0 && signal_number != SIGTRAP && signal_number != SIGSTOP;
      ptrace(PTRACE_CONT, pid_, nullptr, passes ? signal_number : 0);
    }
  }

 private:
  // The signal is pending when tracing ends: the program stops before its first instruction.
  Result<void> stop_here() {
    kill(pid_, SIGSTOP);
    if (ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) == 0) return {};
    return Error{std::string("cannot be stopped at its start: ptrace: ") + strerror(errno)};
  }

  // A shell that starts its program, or another one before it, as a child. The child is traced, too, and waits with it:
  // who ends now could not be attached.
  Result<void> stop_with_child() {
    unsigned long child = 0;
    ptrace(PTRACE_GETEVENTMSG, pid_, nullptr, &child);
    const auto forked = static_cast<pid_t>(child);
    int status = 0;
    if (child != 0 && waitpid(forked, &status, __WALL) == forked) {
      kill(forked, SIGSTOP);
      ptrace(PTRACE_DETACH, forked, nullptr, nullptr);
    }
    return stop_here();
  }

  // The status of a stop, as waitpid(2) gives it.
  Result<int> wait_stop() const {
    while (true) {
      int status = 0;
      siginfo_t info{};
      // Looked at first, so that its end stays for who owns the process.
      if (waitid(P_PID, static_cast<id_t>(pid_), &info,
                 WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
          info.si_pid == pid_) {
        if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
          return Error{"ended before it could be attached"};
        if (waitpid(pid_, &status, WUNTRACED | WNOHANG | __WALL) == pid_ && WIFSTOPPED(status))
          return status;
      }
      pollfd woken{wake_fd_, POLLIN, 0};
      if (wake_fd_ >= 0 && poll(&woken, 1, 0) > 0) return Error{"stopped"};
      if (Clock::now() >= deadline_) return Error{"was not started in time"};
      std::this_thread::sleep_for(kStep);
    }
  }

  pid_t pid_;
  Clock::time_point deadline_;
  int wake_fd_;
};

}  // namespace

Result<Process> start_stopped(SpawnOptions options, milliseconds limit, int wake_fd) {
  // It stops itself before anybody traces it, so that no instruction of the program is missed.
  std::vector<std::string> argv{"/bin/sh", "-c", "kill -STOP $$; exec \"$@\"", "sh"};
  argv.insert(argv.end(), options.argv.begin(), options.argv.end());
  options.argv = std::move(argv);
  auto process = Process::spawn(options);
  if (!process) return process;
  Tracer tracer(process.value().pid(), Clock::now() + limit, wake_fd);
  if (auto stopped = tracer.run(); !stopped) {
    process.value().kill_group(SIGKILL);
    process.value().wait(kKilled);
    return stopped.error();
  }
  return process;
}

void let_go(Process* process) {
  process->kill_group(SIGCONT);
}

}  // namespace filibuster::attach
