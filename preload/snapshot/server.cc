#include "preload/snapshot/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/protocol/snapshot.h"
#include "preload/inject/raw.h"
#include "preload/rpc/agent.h"
#include "preload/snapshot/messages.h"

namespace filibuster::preload {
namespace {

struct Ended {
  bool daemon_is_gone = false;
  siginfo_t status{};
};

// Waits for the end of `child`, ends what is left of its group, and reaps it. `channel`: until something can be read there; then
// false, and the child goes on.
bool wait_for_end(pid_t child, int socket, int channel, Ended* out) {
  const int process = static_cast<int>(raw::call(SYS_pidfd_open, child, 0));
  pollfd watched[3] = {{process, POLLIN, 0}, {socket, POLLIN, 0}, {channel, POLLIN, 0}};
  long ready;
  do {
    ready = raw::call(SYS_ppoll, raw::address_of(watched), 3, 0, 0, 8);
  } while (ready == -EINTR);
  raw::close(process);
  if ((watched[2].revents & POLLIN) != 0) return false;
  // The daemon says nothing while a test runs: it is gone.
  out->daemon_is_gone = watched[0].revents == 0 && watched[2].revents == 0;
  if (out->daemon_is_gone) raw::call(SYS_kill, -child, SIGKILL);
  raw::call(SYS_waitid, P_PID, child, raw::address_of(&out->status), WEXITED | WNOWAIT);
  // Until it is reaped, its pid cannot become another group.
  raw::call(SYS_kill, -child, SIGKILL);
  raw::call(SYS_waitid, P_PID, child, raw::address_of(&out->status), WEXITED);
  return true;
}

SnapshotEnded message_of(const Ended& ended) {
  SnapshotEnded message;
  message.signalled = ended.status.si_code != CLD_EXITED;
  message.code = ended.status.si_status;
  return message;
}

}  // namespace

void leave_for_good() {
  raw::call(SYS_exit_group, 0);
  __builtin_unreachable();
}

void SnapshotServer::serve() {
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
    if (!receive(socket_, &command, &log) || command.magic != kSnapshotCommandMagic)
      leave_for_good();
    if (command.order == SnapshotOrder::kReset) {
      if (use_standby(log)) return;
      continue;
    }
    leave_standbys();
    if (command.order == SnapshotOrder::kGo) {
      replace_log(log_, log);
      release_descriptor(socket_);
      return resume();
    }
    if (fork_one(log)) return;
  }
}

// True: in the child.
bool SnapshotServer::fork_one(int log) {
  const pid_t child = fork();
  if (child == 0) {
    raw::call(SYS_setpgid, 0, 0);
    release_descriptor(socket_);
    begin_execution(log);
    return true;
  }
  if (log >= 0) raw::close(log);
  if (child > 0) raw::call(SYS_setpgid, child, child);
  tell(socket_, SnapshotForked{.pid = child});
  if (child > 0) watch_to_end(child);
  return false;
}

bool SnapshotServer::use_standby(int log) {
  Standby& standby = standbys_[next_];
  next_ = 1 - next_;
  SnapshotForked answer;
  if (standby.is_there() && !standby.wait_ready(&answer)) standby.leave();
  if (!standby.is_there()) {
    if (standby.start()) {
      // The child: it comes here once for each of its executions.
      standbys_[next_].forget();
      release_descriptor(socket_);
      if (log >= 0) raw::close(log);
      replace_log(log_, standby.stand_by(log_));
      timers_.make_again();
      resume();
      return true;
    }
    if (standby.is_there() && !standby.wait_ready(&answer)) standby.leave();
  }
  if (standby.is_there()) standby.begin(log);
  if (log >= 0) raw::close(log);
  answer.pid = standby.is_there() ? standby.pid() : -1;
  tell(socket_, answer);
  if (standby.is_there()) watch_to_end(&standby);
  return false;
}

void SnapshotServer::resume() {
  sigaction(SIGCHLD, &on_child_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void SnapshotServer::begin_execution(int log) {
  make_descriptors_fresh(log_, log);
  timers_.make_again();
  resume();
}

void SnapshotServer::watch_to_end(pid_t child) {
  Ended ended;
  wait_for_end(child, socket_, -1, &ended);
  if (ended.daemon_is_gone) leave_for_good();
  tell(socket_, message_of(ended));
}

void SnapshotServer::watch_to_end(Standby* standby) {
  Ended ended;
  SnapshotEnded message;
  if (!wait_for_end(standby->pid(), socket_, standby->channel(), &ended)) {
    int none = -1;
    if (receive(standby->channel(), &message, &none)) {
      tell(socket_, message);
      return;
    }
    wait_for_end(standby->pid(), socket_, -1, &ended);
  }
  if (ended.daemon_is_gone) leave_for_good();
  message = message_of(ended);
  standby->say_why_it_ended(&message);
  standby->leave(true);
  tell(socket_, message);
}

void SnapshotServer::leave_standbys() {
  for (Standby& standby : standbys_) standby.leave();
}

}  // namespace filibuster::preload
