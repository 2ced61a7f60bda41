#include "preload/snapshot/snapshot.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/protocol/snapshot.h"
#include "preload/inject/raw.h"
#include "preload/os/clock.h"
#include "preload/os/copies.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/cpython/leave.h"
#include "preload/session/state.h"
#include "preload/snapshot/fresh.h"
#include "preload/snapshot/obstacles.h"

namespace filibuster::preload {

constinit std::atomic<SnapshotState> g_snapshot{SnapshotState::kOff};

namespace {

// As the environment had it before main.
constinit ino_t g_log = 0;
constinit sockaddr_un g_daemon{};
// Runtimes that start their threads before any code of the test runs: their snapshot point is the first
// connect.
constinit bool g_starts_with_threads = false;
constinit bool g_may_fork = false;

void set_state(SnapshotState state) {
  static_assert(sizeof g_snapshot == sizeof(int));
  g_snapshot.store(state, std::memory_order_release);
  raw::call(SYS_futex, raw::address_of(&g_snapshot), FUTEX_WAKE_PRIVATE, 1 << 30);
}

bool is_threaded_runtime() {
  constexpr std::string_view kNames[] = {"node", "nodejs", "java", "deno", "bun", "dotnet"};
  const std::string_view path = identity().executable;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view known : kNames)
    if (name == known) return true;
  return false;
}

// "PARENT:LOG:WAY:PATH"
__attribute__((constructor(102))) void read_variable() {
  const char* text = std::getenv(kSnapshotVariable);
  if (text == nullptr || is_inert_copy()) return;
  char* end = nullptr;
  const auto parent = std::strtol(text, &end, 10);
  if (*end != ':' || parent != raw::call(SYS_getppid)) return;
  g_log = std::strtoull(end + 1, &end, 10);
  const std::string_view rest = end;
  constexpr std::string_view kFork = ":fork:", kWait = ":wait:";
  g_may_fork = rest.starts_with(kFork);
  if (!g_may_fork && !rest.starts_with(kWait)) return;
  const std::string_view path = rest.substr(kFork.size());
  if (path.size() >= sizeof g_daemon.sun_path) return;
  g_daemon.sun_family = AF_UNIX;
  std::memcpy(g_daemon.sun_path, path.data(), path.size());
  g_starts_with_threads = is_threaded_runtime();
  g_snapshot.store(SnapshotState::kWanted, std::memory_order_relaxed);
  g_will_execute.store(true, std::memory_order_relaxed);
}

// Receives one message of exactly this size, with at most one descriptor. False: the daemon is gone.
template <typename Message>
bool receive(int socket, Message* message, int* descriptor) {
  iovec data{message, sizeof *message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  long size;
  do {
    size = raw::call(SYS_recvmsg, socket, raw::address_of(&header), MSG_CMSG_CLOEXEC);
  } while (size == -EINTR);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); size > 0 && c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      std::memcpy(descriptor, CMSG_DATA(c), sizeof *descriptor);
  }
  return size == static_cast<long>(sizeof *message);
}

template <typename Message>
void tell(int socket, const Message& message) {
  raw::send(socket, &message, sizeof message, MSG_NOSIGNAL);
}

int reach_daemon() {
  const int made = raw::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC);
  if (made < 0) return -1;
  const int socket = adopt_descriptor(made);
  if (socket < 0) {
    raw::close(made);
    return -1;
  }
  if (raw::connect(socket, reinterpret_cast<const sockaddr*>(&g_daemon), sizeof g_daemon) == 0)
    return socket;
  release_descriptor(socket);
  return -1;
}

[[noreturn]] void leave() {
  raw::call(SYS_exit_group, 0);
  __builtin_unreachable();
}

// The process that forks. It never runs a line of the test again.
class Server {
 public:
  Server(int socket, const Timers& timers) : socket_(socket), timers_(timers) {}

  // Returns in each child.
  void serve() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask_);
    // Children whose status nobody asks for would be gone before it is read.
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &on_child_);
    for (;;) {
      SnapshotCommand command;
      int log = -1;
      if (!receive(socket_, &command, &log) || command.magic != kSnapshotCommandMagic) leave();
      if (command.order == SnapshotOrder::kGo) {
        replace_log(g_log, log);
        return resume();
      }
      const pid_t child = fork();
      if (child == 0) return in_child(log);
      if (log >= 0) raw::close(log);
      if (child > 0) raw::call(SYS_setpgid, child, child);
      tell(socket_, SnapshotForked{.pid = child});
      if (child > 0) watch(child);
    }
  }

 private:
  void resume() {
    sigaction(SIGCHLD, &on_child_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

  void in_child(int log) {
    raw::call(SYS_setpgid, 0, 0);
    release_descriptor(socket_);
    make_descriptors_fresh(g_log, log);
    timers_.make_again();
    resume();
  }

  void watch(pid_t child) {
    const int ended = static_cast<int>(raw::call(SYS_pidfd_open, child, 0));
    pollfd watched[2] = {{ended, POLLIN, 0}, {socket_, POLLIN, 0}};
    long ready;
    do {
      ready = raw::call(SYS_ppoll, raw::address_of(watched), 2, 0, 0, 8);
    } while (ready == -EINTR);
    // The daemon says nothing while a test runs: it is gone.
    const bool alone = watched[0].revents == 0;
    if (alone) raw::call(SYS_kill, -child, SIGKILL);
    siginfo_t info{};
    raw::call(SYS_waitid, P_PID, child, raw::address_of(&info), WEXITED | WNOWAIT);
    // Until it is reaped, its pid cannot become another group.
    raw::call(SYS_kill, -child, SIGKILL);
    raw::call(SYS_waitid, P_PID, child, raw::address_of(&info), WEXITED);
    raw::close(ended);
    if (alone) leave();
    tell(socket_, SnapshotEnded{.signalled = info.si_code != CLD_EXITED, .code = info.si_status});
  }

  int socket_;
  const Timers& timers_;
  sigset_t mask_;
  struct sigaction on_child_ {};
};

// Waits for the daemon's word, and goes on in this process.
void wait_here(int socket) {
  SnapshotCommand command;
  int log = -1;
  if (!receive(socket, &command, &log)) leave();
  if (log >= 0) replace_log(g_log, log);
}

void stop() {
  const int socket = reach_daemon();
  // Nobody waits for what this process would do: the daemon is gone.
  if (socket < 0) leave();
  Obstacle obstacle;
  find_obstacle(g_log, &obstacle);
  Timers timers;
  if (!timers.read() && !obstacle.any()) {
    std::strcpy(obstacle.text, "it has timers that cannot be made again");
    obstacle.kind = NotForked::kTimer;
  }
  if (obstacle.kind == NotForked::kThreads && g_starts_with_threads)
    obstacle.kind = NotForked::kRuntimeThreads;
  if (!g_may_fork && !obstacle.any()) std::strcpy(obstacle.text, "it is started ahead");
  SnapshotHello hello;
  hello.exclusive = obstacle.exclusive;
  hello.obstacle_kind = obstacle.kind;
  g_clock.find_namespace(kRawCall);  // as for a registration, which comes later
  hello.reached_ns = now_ns();
  std::memcpy(hello.obstacle, obstacle.text, sizeof hello.obstacle);
  tell(socket, hello);
  if (obstacle.any()) {
    wait_here(socket);
  } else {
    cpython::prepare_to_leave();
    Server(socket, timers).serve();
  }
  release_descriptor(socket);
}

}  // namespace

void stop_at_snapshot(SnapshotPoint point) {
  if (!own_process()) return;
  if (point == SnapshotPoint::kThread && (g_starts_with_threads || !g_may_fork)) return;
  if (point == SnapshotPoint::kBind && g_may_fork) return;
  SnapshotState state = SnapshotState::kWanted;
  const int error = errno;
  if (g_snapshot.compare_exchange_strong(state, SnapshotState::kHeld, std::memory_order_acq_rel)) {
    stop();
    g_will_execute.store(false, std::memory_order_relaxed);
    set_state(SnapshotState::kOff);
  } else {
    // Another thread of this process is there: nothing may leave before it goes on.
    while (g_snapshot.load(std::memory_order_acquire) == SnapshotState::kHeld)
      raw::call(SYS_futex, raw::address_of(&g_snapshot), FUTEX_WAIT_PRIVATE,
                static_cast<int>(SnapshotState::kHeld), 0);
  }
  errno = error;
}

void forget_snapshot_after_fork() {
  g_will_execute.store(false, std::memory_order_relaxed);
  g_snapshot.store(SnapshotState::kOff, std::memory_order_relaxed);
}

}  // namespace filibuster::preload
