// Stacks of our own, for work that needs more than a caller of a hook may have left.
//
// A hook may take 4 KiB of its caller's stack (tests/integration/tls/test_stack_depth.py). What needs more and calls nothing of a runtime
// (which knows the bounds of its stacks) is done here. Unwinders find their way back through the change of stacks.
#pragma once

#include <type_traits>

namespace filibuster::preload {

// Calls `work(argument)` on another stack, or on this one if there is no other.
void call_on_own_stack(void (*work)(void*), void* argument);

// The same for what can be called without arguments; gives what it returns.
template <typename Work>
auto on_own_stack(const Work& work) {
  using Result = std::invoke_result_t<const Work&>;
  struct Call {
    const Work& work;
    Result result;
  } call{work, {}};
  call_on_own_stack(
      [](void* argument) {
        auto* c = static_cast<Call*>(argument);
        c->result = c->work();
      },
      &call);
  return call.result;
}

}  // namespace filibuster::preload
