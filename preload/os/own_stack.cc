#include "preload/os/own_stack.h"

#include "preload/os/pages.h"
#include "preload/os/pool.h"

#if defined(__x86_64__)
// A frame like that of any function with a frame pointer, but that its callee's frame is elsewhere.
extern "C" __attribute__((visibility("hidden"))) void filibuster_change_stack(void (*work)(void*),
                                                                              void* argument,
                                                                              char* top);
asm(R"(
  .text
  .hidden filibuster_change_stack
  .globl filibuster_change_stack
  .type filibuster_change_stack, @function
filibuster_change_stack:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdx, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size filibuster_change_stack, . - filibuster_change_stack
)");
#endif

namespace filibuster::preload {
namespace {

// A handler of the host may interrupt the work, and runs on this stack then, if it has none of its own. Pages that nobody touches cost
// nothing.
constexpr size_t kStackSize = 256 * 1024;
constexpr size_t kGuard = 4096;

struct Stack {
  char* lowest;
};
Pool<Stack, 64, 256> g_stacks;

bool make_pages(Stack* stack) {
  if (stack->lowest != nullptr) return true;
  auto* pages = static_cast<char*>(map_pages(kStackSize));
  if (pages == nullptr) return false;
  raw_syscall(SYS_mprotect, pages, kGuard, PROT_NONE);
  stack->lowest = pages;
  return true;
}

}  // namespace

void call_on_own_stack(void (*work)(void*), void* argument) {
#if defined(__x86_64__)
  Stack* stack = g_stacks.take();
  if (stack != nullptr && make_pages(stack)) {
    filibuster_change_stack(work, argument, stack->lowest + kStackSize);
    g_stacks.give(stack);
    return;
  }
  if (stack != nullptr) g_stacks.give(stack);
#endif
  work(argument);
}

}  // namespace filibuster::preload
