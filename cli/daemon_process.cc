#include "cli/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/configuration.h"
#include "daemon/base/own_files.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kReadyTimeoutMs = 30'000;
// After the request to end: the daemon stops the services first.
constexpr int kTerminationMs = 30'000;
constexpr int kTermTimeoutMs = 5'000;  // after SIGTERM

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

std::string failure(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

bool answers(const DaemonAddress& address) {
  const Result<Answer> answer = DaemonClient(address.url, address.token).get("/v1/status", 5);
  return answer.ok() && answer->status == 200;
}

bool runs(const DaemonAddress& address) {
  return address.pid > 0 && process_start_time(address.pid) == address.start_time;
}

// The end of a file, without blank lines: a daemon's last words.
std::string tail(const std::string& path, size_t most) {
  Result<std::string> text = read_file(path);
  if (!text) return "";
  std::string end = text->size() > most ? text->substr(text->size() - most) : text.value();
  while (!end.empty() && (end.back() == '\n' || end.back() == ' ')) end.pop_back();
  return end;
}

// True if the process behind a pidfd has ended, or does so in time.
bool wait_for_end(const Descriptor& pidfd, int timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    pollfd wait{pidfd.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Descriptor open_process(int64_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

// Waits for the end of a child and reaps it; false if it does not end in time.
bool bury(pid_t child, int timeout_ms) {
  const Descriptor pidfd = open_process(child);
  return pidfd.get() >= 0 && wait_for_end(pidfd, timeout_ms) && waitpid(child, nullptr, 0) == child;
}

struct Start {
  pid_t child = 0;
  bool ready = false;
};

// Starts the daemon in a terminal session of its own: Ctrl-C must only reach this process, which then
// asks the daemon to stop in order.
Result<Start> spawn(const std::string& program, const std::string& root, const std::string& log) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return Error{failure("pipe")};
  Descriptor ready_read(pipe_fds[0]), ready_write(pipe_fds[1]);
  const Descriptor log_file(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (log_file.get() < 0) return Error{failure(log)};
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));

  const std::string fd_text = std::to_string(ready_write.get());
  std::vector<const char*> arguments{
      program.c_str(), "--root",        root.c_str(), "--exit-with-client",
      "--ready-fd",    fd_text.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (nothing.get() >= 0) posix_spawn_file_actions_adddup2(&actions, nothing.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, log_file.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, log_file.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, ready_write.get(), ready_write.get());  // inherited
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, number);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes,
                                const_cast<char* const*>(arguments.data()), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Error{"the daemon (" + program + ") did not start:\n" + program + ": " +
                 std::strerror(error)};
  }
  ready_write.reset();

  // A byte means that the daemon serves; the end of the pipe without a byte means that it ended.
  Start start{child, false};
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kReadyTimeoutMs);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    pollfd wait{ready_read.get(), POLLIN, 0};
    const int result = poll(&wait, 1, left > 0 ? static_cast<int>(left) : 0);
    if (result < 0 && errno == EINTR) continue;
    char byte = 0;
    start.ready = result > 0 && read(ready_read.get(), &byte, 1) == 1;
    return start;
  }
}

}  // namespace

uint64_t process_start_time(int64_t pid) {
  Result<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return 0;
  // Field 2 is the name in parentheses and may hold blanks and parentheses itself.
  const size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat->substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return 0;  // it has ended and waits to be reaped
  for (int field = 4; field < 22; ++field) fields >> skipped;
  uint64_t start = 0;
  fields >> start;
  return start;
}

std::optional<DaemonAddress> read_daemon_address(const std::string& root) {
  const std::string path = root + "/daemon.json";
  // The file must be this user's: the daemon that it names is sent the configuration.
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) return std::nullopt;
  Result<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  const nlohmann::json json =
      nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  try {
    DaemonAddress address;
    json.at("pid").get_to(address.pid);
    json.at("start_time").get_to(address.start_time);
    json.at("url").get_to(address.url);
    json.at("token").get_to(address.token);
    return address;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // half written, or of another version
  }
}

Result<void> prepare_root(const std::string& root) {
  std::error_code failed;
  const mode_t before = umask(077);
  fs::create_directories(root, failed);
  umask(before);
  if (!failed && !fs::is_directory(root)) failed = std::make_error_code(std::errc::not_a_directory);
  if (!failed && access(root.c_str(), W_OK | X_OK) != 0)
    failed = std::error_code(errno, std::generic_category());
  if (!failed) return {};
  return Error{root + ": " + failed.message() +
               "; sessions and results are kept there: name a directory that can be written to "
               "with --root DIR"};
}

Result<std::unique_ptr<Daemon>> Daemon::join_or_start(const std::string& root) {
  if (const auto address = read_daemon_address(root);
      address && runs(*address) && answers(*address)) {
    return std::unique_ptr<Daemon>(new Daemon(*address, 0));
  }
  if (auto prepared = prepare_root(root); !prepared) return prepared.error();
  const std::string program = own_directory() + "/filibusterd";
  const std::string log = root + "/daemon.log";
  Result<Start> start = spawn(program, root, log);
  if (!start) return start.error();
  const auto address = start->ready ? read_daemon_address(root) : std::nullopt;
  if (address && answers(*address)) {
    return std::unique_ptr<Daemon>(new Daemon(*address, start->child));
  }
  // The daemon ended, or does not say that it serves.
  if (!bury(start->child, start->ready ? 0 : 100)) {
    kill(start->child, SIGTERM);
    bury(start->child, kTermTimeoutMs);
  }
  const std::string words = tail(log, 2000);
  return Error{"the daemon (" + program + ") did not start" +
               (words.empty()
                    ? ", and wrote nothing to " + log +
                          ": check that the disk is not full, and that files may grow (ulimit -f)"
                    : ":\n" + words)};
}

bool Daemon::ended(int timeout_ms) const {
  const Descriptor pidfd = open_process(address_.pid);
  // The pidfd is opened first: if the start time fits afterwards, it means the same process.
  if (pidfd.get() < 0 || !runs(address_)) return true;
  return wait_for_end(pidfd, timeout_ms);
}

void Daemon::finish() {
  if (child_ == 0) return;
  const pid_t child = std::exchange(child_, 0);
  const Result<Answer> asked = client_.post("/v1/shutdown", "{}");
  if (asked.ok() && bury(child, kTerminationMs)) return;
  kill(child, SIGTERM);
  bury(child, kTermTimeoutMs);
}

}  // namespace filibuster::cli
