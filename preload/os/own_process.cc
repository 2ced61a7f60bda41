// Is this thread of control really this process? That is asked several times per message, so it is found
// out without a system call (getpid takes 0.1 to 0.6 us):
//   - A forked child does not share our memory. A page that the kernel wipes on fork (MADV_WIPEONFORK,
//     Linux 4.14) reads 0 in the child until after_fork_in_child says that the child has its own books. A
//     child made behind our back (a raw clone) thus stays a bystander.
//   - A vfork child shares our memory, thread-local memory too, while the thread that made it is
//     suspended. Between our vfork and its return in the parent, whoever runs with this thread's memory is
//     the child.
#include <sys/mman.h>

#include <cerrno>

#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK
constexpr size_t kPage = 4096;

constinit std::atomic<std::atomic<int>*> g_mark{nullptr};  // on the page: 1 in this process
constinit std::atomic<int> g_pid{0};                       // is asked where the kernel cannot wipe

bool same_pid() {
  const int pid = static_cast<int>(raw_syscall(SYS_getpid));
  const int known = g_pid.load(std::memory_order_relaxed);
  if (known == pid) return true;
  if (known != 0) return false;
  g_pid.store(pid, std::memory_order_relaxed);  // a hook runs before our constructor
  return true;
}

}  // namespace
}  // namespace filibuster::preload

#if defined(__x86_64__)
// vfork must not return through a frame of ours: the child would overwrite the frame before the parent
// returns. So it has no frame: the return address waits in a register, as in libc's own vfork.
extern "C" {
__attribute__((visibility("hidden"),
               tls_model("initial-exec"))) thread_local constinit int filibuster_vfork_children = 0;
__attribute__((visibility("hidden"))) pid_t filibuster_vfork_failed(long error) {
  errno = static_cast<int>(-error);
  return -1;
}
}
__asm__(R"(
    .text
    .globl vfork
    .globl __vfork
    .type vfork, @function
    .type __vfork, @function
    .p2align 4
vfork:
__vfork:
    .cfi_startproc
    endbr64
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdi
    movq filibuster_vfork_children@gottpoff(%rip), %rsi
    addl $1, %fs:(%rsi)
    movl $58, %eax                  # SYS_vfork; keeps %rdi and %rsi
    syscall
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rip, -8
    testq %rax, %rax
    jz 1f                           # the child: its end or its exec resumes the parent
    movq filibuster_vfork_children@gottpoff(%rip), %rsi
    subl $1, %fs:(%rsi)
    testq %rax, %rax
    js 2f
1:  ret
2:  movq %rax, %rdi
    jmp filibuster_vfork_failed
    .cfi_endproc
    .size vfork, .-vfork
    .size __vfork, .-__vfork
)");
#endif

namespace filibuster::preload {

bool own_process() {
#if defined(__x86_64__)
  const std::atomic<int>* mark = g_mark.load(std::memory_order_relaxed);
  if (__builtin_expect(mark != nullptr, 1))
    return mark->load(std::memory_order_relaxed) != 0 && filibuster_vfork_children == 0;
#endif
  return same_pid();
}

uint64_t page_of_own_process() {
  return reinterpret_cast<uint64_t>(g_mark.load(std::memory_order_relaxed));
}

void mark_own_process() {
  g_pid.store(static_cast<int>(raw_syscall(SYS_getpid)), std::memory_order_relaxed);
  if (std::atomic<int>* mark = g_mark.load(std::memory_order_relaxed)) {
    mark->store(1, std::memory_order_relaxed);
    return;
  }
  const long page = raw_syscall(SYS_mmap, nullptr, kPage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -4096) return;
  if (raw_syscall(SYS_madvise, page, kPage, kWipeOnFork) != 0) {
    raw_syscall(SYS_munmap, page, kPage);
    return;
  }
  auto* mark = reinterpret_cast<std::atomic<int>*>(page);
  mark->store(1, std::memory_order_relaxed);
  g_mark.store(mark, std::memory_order_release);
}

}  // namespace filibuster::preload
