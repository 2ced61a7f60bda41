#include "preload/hooks/seccomp.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/stream/holds.h"

namespace filibuster::preload {
namespace {

constexpr int kSetSeccomp = 22;  // PR_SET_SECCOMP; <sys/prctl.h> would declare what is defined here

}  // namespace

bool Restriction::is_prctl(long option, long mode, long filter) {
  return option == kSetSeccomp &&
         (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0));
}

bool Restriction::is_seccomp(long operation, long filter) {
  return operation == SECCOMP_SET_MODE_STRICT ||
         (operation == SECCOMP_SET_MODE_FILTER && filter != 0);
}

Restriction::Restriction() {
  HookScope scope;
  if (scope.pass_through() || !own_process()) return;
  flush_all_holds();
  // What it calls after this is in no report, so a process that had no socket yet is named, too.
  note_stream_socket();
  report_note("seccomp: it restricts its system calls, so it takes no part in sessions any more");
  session_ = leave_sessions();
}

void Restriction::failed() {
  if (session_ != nullptr) return_to_sessions(session_);
}

}  // namespace filibuster::preload

// No argument is left out, or it is not looked at: all are forwarded as they came.
FILIBUSTER_HOOK(int, prctl, (int option, long a, long b, long c, long d)) {
  using namespace filibuster::preload;
  if (__builtin_expect(!Restriction::is_prctl(option, a, b), 1))
    return REAL(prctl)(option, a, b, c, d);
  Restriction restriction;
  const int result = REAL(prctl)(option, a, b, c, d);
  if (result != 0) restriction.failed();
  return result;
}
