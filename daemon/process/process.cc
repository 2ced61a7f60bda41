#include "daemon/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "daemon/base/file_text.h"
#include "daemon/base/process_table.h"
#include "daemon/process/children.h"
#include "daemon/process/direct_command.h"
#include "daemon/process/pidfd.h"

namespace filibuster {
namespace {

constexpr int kRestPollMs = 10;
constexpr std::chrono::seconds kKilledRest{2};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// True if a process of this group runs, besides the leader, which has ended.
bool group_goes_on(pid_t group) {
  bool found = false;
  for_each_process([&](pid_t pid) {
    if (found || pid == group) return;
    const auto stat = process_stat(pid);
    found = stat && stat->group == group && !stat->has_ended();
  });
  return found;
}

ExitStatus from_siginfo(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {false, info.si_status};
  return {true, info.si_status};
}

}  // namespace

std::string to_text(const ExitStatus& status) {
  if (!status.signalled) return "exit status " + std::to_string(status.code);
  const char* name = sigabbrev_np(status.code);
  return "ended by " +
         (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(status.code));
}

namespace {

// A field of /proc/PID/stat from the third on. 0: no such process.
uint64_t stat_field(pid_t pid, int wanted) {
  char path[48], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  // The name (field 2) may hold anything, so count from the last ')': field 3 follows.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < wanted; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

}  // namespace

pid_t parent_of_process(pid_t pid) {
  return static_cast<pid_t>(stat_field(pid, 4));
}

uint64_t process_start_time(pid_t pid) {
  return stat_field(pid, 22);
}

bool wait_for_end(pid_t pid, uint64_t start_time, std::chrono::milliseconds timeout) {
  const int pidfd = pidfd_open(pid, 0);
  if (pidfd < 0) return true;
  pollfd watched{pidfd, POLLIN, 0};
  // The pid may belong to another process by now.
  const bool same = process_start_time(pid) == start_time;
  const bool ended = !same || poll(&watched, 1, static_cast<int>(timeout.count())) > 0;
  close(pidfd);
  return ended;
}

Result<Process> Process::spawn(const SpawnOptions& options) {
  if (options.argv.empty()) return Error{"an empty command cannot be started"};
  const std::string& program = options.argv[0];
  struct stat status;
  if (!options.directory.empty() &&
      (stat(options.directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
    return Error{"cannot start '" + program + "' in '" + options.directory +
                 "': no such directory"};
  }
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (options.append ? 0 : O_TRUNC);
  const int log = open(options.log_path.c_str(), flags, 0600);
  if (log < 0) return Error{"cannot write the log " + options.log_path + ": " + strerror(errno)};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.input < 0) posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (options.input >= 0) posix_spawn_file_actions_adddup2(&actions, options.input, 0);
  posix_spawn_file_actions_adddup2(&actions, options.output >= 0 ? options.output : log, 1);
  posix_spawn_file_actions_adddup2(&actions, log, 2);
  if (options.inherited >= 0) posix_spawn_file_actions_adddup2(&actions, options.inherited, 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, options.inherited >= 0 ? 4 : 3);
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);  // the daemon ignores SIGPIPE and blocks other signals: no child inherits that
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = 0;
  int error = ENOENT;
  auto starting = OwnChildren::get().changing();
  if (const auto direct = direct_command(options.argv, options.environment, options.directory)) {
    error = posix_spawn(&pid, direct->program.c_str(), &actions, &attributes,
                        pointers(direct->argv).data(), pointers(direct->environment).data());
  }
  // Also where the program cannot be executed after all: a shell says why, or reads it as a script.
  if (error != 0) {
    error = posix_spawnp(&pid, program.c_str(), &actions, &attributes,
                         pointers(options.argv).data(), pointers(options.environment).data());
  }
  if (error == 0) OwnChildren::get().add(pid);
  starting.unlock();
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(log);
  if (error != 0) {
    return Error{"cannot start '" + program + "': " + strerror(error) +
                 (options.directory.empty() ? "" : " (in " + options.directory + ")")};
  }
  // Only this process can reap the child, so the pid cannot belong to another process yet.
  const int pidfd = pidfd_open(pid, 0);
  if (pidfd < 0) {
    const std::string reason = strerror(errno);
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    OwnChildren::get().remove(pid);
    return Error{"cannot watch '" + program + "' (pidfd_open: " + reason + ")"};
  }
  Process process(pid, pidfd);
  process.start_time_ = process_start_time(pid);
  process.rest_grace_ = options.rest_grace;
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      start_time_(other.start_time_),
      rest_grace_(other.rest_grace_),
      asked_to_end_(other.asked_to_end_),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    give_up();
    pid_ = std::exchange(other.pid_, 0);
    pidfd_ = std::exchange(other.pidfd_, -1);
    start_time_ = other.start_time_;
    rest_grace_ = other.rest_grace_;
    asked_to_end_ = other.asked_to_end_;
    status_ = other.status_;
  }
  return *this;
}

Process::~Process() {
  give_up();
}

void Process::give_up() {
  if (pid_ > 0 && !status_) OwnChildren::get().remove(pid_);
  if (pidfd_ >= 0) close(pidfd_);
}

std::optional<ExitStatus> Process::poll_exit() {
  if (status_ || pidfd_ < 0) return status_;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pidfd_);
  if (waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  // Until the process is reaped, its pid cannot become the group of other processes.
  using Clock = std::chrono::steady_clock;
  for (const auto limit = Clock::now() + rest_grace_;
       Clock::now() < limit && group_goes_on(pid_);) {
    poll(nullptr, 0, kRestPollMs);
  }
  kill(-pid_, SIGKILL);
  {
    const auto reaping = OwnChildren::get().changing();
    waitid(P_PIDFD, id, &info, WEXITED | WNOHANG);
    OwnChildren::get().remove(pid_);
  }
  // A killed server of the group accepts connections until it is gone, and would answer for the next one.
  for (const auto limit = Clock::now() + kKilledRest;
       kill(-pid_, 0) == 0 && Clock::now() < limit && group_goes_on(pid_);) {
    poll(nullptr, 0, 1);
  }
  status_ = from_siginfo(info);
  return status_;
}

std::optional<ExitStatus> Process::wait(std::chrono::milliseconds timeout, int wake_fd) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  while (true) {
    if (auto status = poll_exit()) return status;
    int left = -1;
    if (timeout.count() >= 0) {
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (rest <= 0) return std::nullopt;
      left = static_cast<int>(std::min<int64_t>(rest, 3'600'000));
    }
    pollfd watched[2] = {{pidfd_, POLLIN, 0}, {wake_fd, POLLIN, 0}};
    if (poll(watched, 2, left) > 0 && watched[1].revents != 0 && watched[0].revents == 0) {
      return std::nullopt;
    }
  }
}

void Process::kill_group(int signal_number) {
  if (!status_ && pid_ > 0) kill(-pid_, signal_number);
}

void Process::ask_to_end() {
  if (!asked_to_end_) kill_group(SIGTERM);
  asked_to_end_ = true;
}

ExitStatus Process::stop(std::chrono::milliseconds grace) {
  ask_to_end();
  if (auto status = wait(grace)) return *status;
  kill_group(SIGKILL);
  return wait(std::chrono::milliseconds(-1)).value_or(ExitStatus{});
}

std::string last_lines(const std::string& path, int lines) {
  constexpr std::streamoff kMost = 16 * 1024;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(size > kMost ? size - kMost : 0);
  std::string text = text_of(file);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  size_t begin = text.size();
  for (int n = 0; n < lines && begin != 0 && begin != std::string::npos; ++n) {
    begin = begin == 0 ? std::string::npos : text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos || text.empty() ? text
                                                    : text.substr(begin + (text[begin] == '\n'));
}

}  // namespace filibuster
