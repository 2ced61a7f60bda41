#include "daemon/lane/snapshot.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "core/protocol/snapshot.h"
#include "daemon/agents/registration.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kSnapshotKillLimit{5000};  // from SIGKILL to the end of a process
constexpr milliseconds kForkLimit{10000};

template <typename T>
bool receive(int socket, T* message) {
  const ssize_t size = ::recv(socket, message, sizeof *message, MSG_DONTWAIT);
  return size == static_cast<ssize_t>(sizeof *message);
}

bool send_command(int socket, SnapshotOrder order, int descriptor) {
  SnapshotCommand command;
  command.order = order;
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof command);
}

// Waits until one of the two is readable; false: the time is over. `*woken` says which it was.
bool wait_readable(int fd, int wake_fd, Clock::time_point end, bool* woken) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    pollfd watched[2] = {{fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
    const int ready = ::poll(watched, 2, static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000)));
    if (ready > 0) {
      *woken = watched[0].revents == 0;
      return true;
    }
    if (left <= 0) return false;
  }
}

class RunningProcess final : public RunningTest {
 public:
  explicit RunningProcess(Process process) : process_(std::move(process)) {}
  pid_t pid() const override { return process_.pid(); }
  uint64_t start_time() const override { return process_.start_time(); }
  std::optional<ExitStatus> wait(milliseconds timeout, int wake_fd) override {
    return process_.wait(timeout, wake_fd);
  }
  void kill() override {
    process_.kill_group(SIGKILL);
    process_.wait(kSnapshotKillLimit);
  }

 private:
  Process process_;
};

}  // namespace

std::unique_ptr<RunningTest> running_process(Process process) {
  return std::make_unique<RunningProcess>(std::move(process));
}

// The process that forked it reaps it, and tells its status.
class Snapshot::Forked final : public RunningTest {
 public:
  // `to_reset`: whose child is reset at its end; nullptr: it is not.
  Forked(int socket, pid_t pid, Snapshot* to_reset)
      : socket_(socket), pid_(pid), start_time_(process_start_time(pid)), to_reset_(to_reset) {}
  ~Forked() override {
    if (!ended_) kill();
  }
  pid_t pid() const override { return pid_; }
  uint64_t start_time() const override { return start_time_; }

  std::optional<ExitStatus> wait(milliseconds timeout, int wake_fd) override {
    bool woken = false;
    if (ended_ || !wait_readable(socket_, wake_fd, Clock::now() + timeout, &woken) || woken)
      return status_;
    SnapshotEnded message;
    ended_ = true;
    // Without a status: the process that forked it was killed, and its end is not known.
    const bool told = receive(socket_, &message) && message.magic == kSnapshotEndedMagic;
    status_ = told ? ExitStatus{message.signalled != 0, message.code} : ExitStatus{true, SIGKILL};
    if (told && to_reset_ != nullptr) to_reset_->note(message.refusal, message.why);
    return status_;
  }
  void kill() override {
    // Until its status is read, its pid is not given to another process.
    if (!ended_) ::kill(-pid_, SIGKILL);
    wait(kSnapshotKillLimit, -1);
  }

 private:
  int socket_;
  pid_t pid_;
  uint64_t start_time_;
  Snapshot* to_reset_;
  bool ended_ = false;
  std::optional<ExitStatus> status_;
};

Result<std::unique_ptr<Snapshot>> Snapshot::start(Options options, OwnedProcesses* owned) {
  SpawnOptions& spawn = options.spawn;
  std::unique_ptr<Snapshot> out(new Snapshot);
  out->log_path_ = spawn.log_path;
  out->socket_path_ = options.folder + "/s" + options.name;
  auto listener = listen_at(out->socket_path_);
  if (!listener) return listener.error();
  out->listener_ = std::move(listener).value();
  // The test tells its log from other files by the inode, so the file is there before it.
  const UniqueFd log(::open(spawn.log_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  struct stat status {};
  if (!log.valid() || ::fstat(log.get(), &status) != 0)
    return system_error("open " + spawn.log_path);
  set_variable(&spawn.environment, kSnapshotVariable,
               std::to_string(::getpid()) + ":" + std::to_string(status.st_ino) +
                   (options.may_fork ? ":fork:" : ":wait:") + out->socket_path_);
  out->started_ns_ = clock_ns();
  auto process = Process::spawn(spawn);
  if (!process) return process.error();
  out->process_.emplace(std::move(process).value());
  out->owned_ = owned;
  owned->add(options.service, *out->process_);
  return out;
}

Snapshot::~Snapshot() {
  if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
  if (!process_) return;
  ::unlink(log_path_.c_str());
  process_->kill_group(SIGKILL);
  process_->wait(kSnapshotKillLimit);
  if (owned_ != nullptr) owned_->forget(process_->pid());
}

Snapshot::State Snapshot::take_hello() {
  SnapshotHello hello;
  if (!receive(socket_.get(), &hello) || hello.magic != kSnapshotHelloMagic ||
      hello.major != kProtocolMajor)
    return State::kEnded;
  obstacle_ = printable({hello.obstacle, ::strnlen(hello.obstacle, sizeof hello.obstacle)});
  obstacle_kind_ = hello.obstacle_kind;
  exclusive_ = hello.exclusive != 0;
  reached_ns_ = hello.reached_ns;
  ready_ = true;
  ::unlink(socket_path_.c_str());
  socket_path_.clear();
  listener_.reset();
  return State::kReady;
}

// An orphan of this lane that starts a program has this daemon for its parent, too, and the same variable: it takes itself
// for the process that was started here. It goes on as it is.
void Snapshot::send_on(UniqueFd socket) {
  const UniqueFd log(::open(log_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  send_command(socket.get(), SnapshotOrder::kGo, log.get());
  // Closing a socket whose greeting nobody has read would take the order back.
  sent_on_.push_back(std::move(socket));
}

Snapshot::State Snapshot::wait_ready(milliseconds limit, int wake_fd) {
  for (const auto end = Clock::now() + limit; !ready_;) {
    const int waited = socket_.valid() ? socket_.get() : listener_.get();
    pollfd watched[3] = {{waited, POLLIN, 0}, {process_->pidfd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    const int ready = ::poll(watched, 3, static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000)));
    if (ready > 0 && watched[0].revents != 0) {
      if (socket_.valid()) return take_hello();
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      Peer peer;
      if (socket.valid() && peer_of(socket.get(), &peer) && peer.pid == process_->pid())
        socket_ = std::move(socket);
      else if (socket.valid())
        send_on(std::move(socket));
      continue;
    }
    if (ready > 0 && watched[2].revents != 0) return State::kStopped;
    if (ready > 0 && watched[1].revents != 0) return State::kEnded;
    if (left <= 0) return State::kStarting;
  }
  return process_->poll_exit() ? State::kEnded : State::kReady;
}

Result<UniqueFd> Snapshot::begin_log(const std::string& log, bool append) const {
  UniqueFd file(::open(log.c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0600));
  const auto before = read_file(log_path_);
  if (!before) return before.error();
  if (!file.valid() ||
      ::write(file.get(), before->data(), before->size()) != static_cast<ssize_t>(before->size()))
    return system_error("cannot write the log " + log);
  return file;
}

void Snapshot::note(NotReset refusal, const char (&why)[kWhyNotReset]) {
  if (refusal == NotReset::kNot) return;
  ++resets_.refused_in_turn;
  resets_.refused_for_good = resets_.refused_for_good || refusal == NotReset::kForGood;
  resets_.why = printable({why, ::strnlen(why, sizeof why)});
}

Result<std::unique_ptr<RunningTest>> Snapshot::fork(const std::string& log, Child child) {
  const auto file = begin_log(log, false);
  if (!file) return file.error();
  SnapshotForked forked;
  bool woken = false;
  if (!send_command(socket_.get(),
                    child == Child::kReset ? SnapshotOrder::kReset : SnapshotOrder::kFork,
                    file->get()) ||
      !wait_readable(socket_.get(), -1, Clock::now() + kForkLimit, &woken) ||
      !receive(socket_.get(), &forked) || forked.magic != kSnapshotForkedMagic)
    return Error{"the process that is forked for each execution has ended"};
  if (forked.pid <= 0) return Error{"the test cannot be forked (no memory, or too many processes)"};
  // Its end only said that it can be reset: that it was is known when it comes again.
  if (forked.refusal == NotReset::kNot && forked.pid == last_but_one_) resets_.refused_in_turn = 0;
  note(forked.refusal, forked.why);
  last_but_one_ = std::exchange(last_, forked.pid);
  return std::unique_ptr<RunningTest>(
      std::make_unique<Forked>(socket_.get(), forked.pid, child == Child::kReset ? this : nullptr));
}

Result<Process> Snapshot::let_go(const std::string& log, bool append) {
  const auto file = begin_log(log, append);
  if (!file) return file.error();
  if (!send_command(socket_.get(), SnapshotOrder::kGo, file->get()))
    return Error{"the process that was started ahead has ended"};
  ::unlink(log_path_.c_str());
  Process process = std::move(*process_);
  process_.reset();
  owned_->forget(process.pid());  // whoever has it now adds it again
  return process;
}

}  // namespace filibuster
