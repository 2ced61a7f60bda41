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
#include "preload/snapshot/messages.h"
#include "preload/snapshot/obstacles.h"
#include "preload/snapshot/server.h"
#include "preload/snapshot/standby.h"

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
  if (g_may_fork) watch_exit();
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

// Waits for the daemon's word, and goes on in this process.
void wait_here(int socket) {
  SnapshotCommand command;
  int log = -1;
  if (!receive(socket, &command, &log)) leave_for_good();
  if (log >= 0) replace_log(g_log, log);
}

void stop() {
  const int socket = reach_daemon();
  // Nobody waits for what this process would do: the daemon is gone.
  if (socket < 0) leave_for_good();
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
    release_descriptor(socket);
  } else {
    cpython::prepare_to_leave();
    SnapshotServer(socket, timers, g_log).serve();
  }
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
