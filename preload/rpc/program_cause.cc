#include "preload/rpc/program_cause.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// Written before main only. A forked child has it, too.
constinit RpcContext g_cause{};
constinit std::atomic<bool> g_has_cause{false};

}  // namespace

bool program_cause_to_pass_on(char* out) {
  // The programs that the test starts make entries, as the test does.
  if (identity().is_test) return false;
  RpcContext cause;
  const TaskContext task = session_present() ? inheritable_task() : TaskContext{};
  if (task.state == TaskContext::State::kRequest) {
    cause = task.cause;
  } else if (!program_cause(&cause)) {
    return false;
  }
  constexpr size_t kName = sizeof kProgramCauseVariable - 1;
  std::memcpy(out, kProgramCauseVariable, kName);
  out[kName] = '=';
  encode_header_value(cause, out + kName + 1);
  return true;
}

void take_program_cause() {
  const char* value = std::getenv(kProgramCauseVariable);
  if (value == nullptr) return;
  if (decode_header_value(value, &g_cause)) g_has_cause.store(true, std::memory_order_release);
  // As unsetenv would do it, but without its lock. Nothing else runs yet.
  char** at = environ;
  while (*at != value - sizeof kProgramCauseVariable) ++at;
  for (; *at != nullptr; ++at) *at = at[1];
}

bool program_cause(RpcContext* cause) {
  if (!g_has_cause.load(std::memory_order_acquire)) return false;
  *cause = g_cause;
  return true;
}

void forget_program_cause() {
  g_has_cause.store(false, std::memory_order_release);
}

}  // namespace filibuster::preload
