#include "preload/snapshot/standby.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "preload/inject/raw.h"
#include "preload/rpc/agent.h"
#include "preload/snapshot/fresh.h"
#include "preload/snapshot/messages.h"
#include "preload/snapshot/server.h"

namespace filibuster::preload {
namespace {

// From the child: it waits.
struct Ready {
  NotReset refusal = NotReset::kNot;
  char why[kWhyNotReset] = {};
};

void tell_ended(const reset::Arena& arena) {
  SnapshotEnded message;
  message.code = arena.status;
  tell(arena.channel, message);
}

void at_exit(int status, void*) {
  reset::exit_or_reset(status, tell_ended);
}

void reap(pid_t pid) {
  siginfo_t info{};
  if (pid > 0) raw::call(SYS_waitid, P_PID, pid, raw::address_of(&info), WEXITED | __WALL);
}

template <typename Message>
void copy_refusal(const reset::Arena& arena, Message* out) {
  out->refusal = arena.refusal;
  std::memcpy(out->why, arena.why, sizeof out->why);
}

}  // namespace

void watch_exit() {
  on_exit(at_exit, nullptr);
}

bool Standby::start() {
  if (arena_ == nullptr) arena_ = reset::make_arena();
  int ends[2];
  if (arena_ == nullptr || raw::socket_pair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, ends) != 0)
    return false;
  const int ours = adopt_descriptor(ends[0]), its = adopt_descriptor(ends[1]);
  arena_->server = static_cast<pid_t>(raw::call(SYS_getpid));
  arena_->pristine = 0;
  arena_->refusal = NotReset::kNot;
  const pid_t child = ours >= 0 && its >= 0 ? fork() : -1;
  if (child == 0) {
    raw::call(SYS_setpgid, 0, 0);
    release_descriptor(ours);
    channel_ = its;
    return true;
  }
  release_descriptor(its);
  if (child < 0) {
    release_descriptor(ours);
    return false;
  }
  raw::call(SYS_setpgid, child, child);
  pid_ = child;
  channel_ = ours;
  return false;
}

bool Standby::wait_ready(SnapshotForked* answer) {
  Ready ready;
  int none = -1;
  const bool waits = receive(channel_, &ready, &none);
  if (answer->refusal == NotReset::kNot) copy_refusal(*arena_, answer);
  return waits;
}

void Standby::begin(int log) {
  tell_with(channel_, SnapshotCommand{.order = SnapshotOrder::kReset}, log);
}

void Standby::say_why_it_ended(SnapshotEnded* message) const {
  if (!reset::refuse(
          arena_, NotReset::kOnce,
          "it ended without calling exit(): by _exit(), by a signal, or as another program"))
    copy_refusal(*arena_, message);
}

void Standby::leave(bool is_reaped) {
  if (!is_there()) return;
  if (!is_reaped) {
    raw::call(SYS_kill, -pid_, SIGKILL);
    reap(pid_);
  }
  if (arena_->pristine > 0) raw::call(SYS_kill, arena_->pristine, SIGKILL);
  reap(arena_->pristine);
  release_descriptor(channel_);
  pid_ = 0;
  channel_ = -1;
}

void Standby::forget() {
  if (is_there()) release_descriptor(channel_);
  pid_ = 0;
  channel_ = -1;
}

int Standby::stand_by(ino_t log_inode) {
  reset::keep_this(arena_, channel_);
  make_descriptors_fresh_but_log(log_inode);
  // It would do so at its first call, while its execution waits for it.
  attached();
  Ready ready;
  copy_refusal(*arena_, &ready);
  tell(channel_, ready);
  SnapshotCommand command;
  int log = -1;
  if (!receive(channel_, &command, &log)) leave_for_good();
  return log;
}

}  // namespace filibuster::preload
