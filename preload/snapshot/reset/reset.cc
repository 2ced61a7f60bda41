#include "preload/snapshot/reset/reset.h"

#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "preload/inject/raw.h"
#include "preload/os/open_descriptors.h"
#include "preload/os/symbols.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"
#include "preload/snapshot/reset/mappings.h"
#include "preload/snapshot/reset/pages.h"

namespace filibuster::preload::reset {
namespace {

// The child's own; nullptr in all other processes. A process that the child forks has it, too, and another pid.
constinit Arena* g_arena = nullptr;
using TellEnded = void (*)(const Arena&);
constinit TellEnded g_tell_ended = nullptr;

// The first resets are compared byte by byte, and one in so many of those that follow.
constexpr uint32_t kComparedFirst = 3, kComparedEvery = 100;

// Gives the mask until now.
uint64_t set_signal_mask(uint64_t mask) {
  uint64_t before = 0;
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::address_of(&mask), raw::address_of(&before),
            sizeof mask);
  return before;
}

uint64_t inode_of(int fd) {
  struct stat status;
  return raw::call(SYS_fstat, fd, raw::address_of(&status)) == 0 ? status.st_ino : 0;
}

// Where the kernel writes on which processor this thread runs. glibc 2.35 and later say where.
uint64_t rseq_of_this_thread() {
  const auto* offset = static_cast<const ptrdiff_t*>(symbol_of_program("__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(symbol_of_program("__rseq_size"));
  if (offset == nullptr || size == nullptr || *size == 0) return 0;
  return reinterpret_cast<uint64_t>(__builtin_thread_pointer()) + static_cast<uint64_t>(*offset);
}

// --- the sibling ------------------------------------------------------------------------------------

// It shares all its pages with the child, so it writes to none: its stack is in the arena.
void hold(void* argument) {
  auto* arena = static_cast<Arena*>(argument);
  raw::call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw::call(SYS_getppid) != arena->server) raw::call(SYS_exit_group, 0);
  raw::call(SYS_prctl, PR_SET_PTRACER, arena->child);
  // In the group of the child are processes of the test, and no others.
  raw::call(SYS_setpgid, 0, raw::call(SYS_getpgid, arena->server));
  // Its end is to be seen at the end of the child.
  raw::close(arena->channel);
  __atomic_store_n(&arena->pristine, static_cast<pid_t>(raw::call(SYS_getpid)), __ATOMIC_RELEASE);
  raw::call(SYS_futex, raw::address_of(&arena->pristine), 1 /* FUTEX_WAKE */, 1);
  for (;;) raw::call(SYS_ppoll, 0, 0, 0, 0, 8);
}

bool try_sibling(Arena* arena) {
  // It may not have begun, and then it allows nothing.
  timespec limit{1, 0};
  for (int tries = 0; __atomic_load_n(&arena->pristine, __ATOMIC_ACQUIRE) == 0; ++tries) {
    if (tries == 10) return refuse(arena, NotReset::kForGood, "its sibling does not begin");
    raw::call(SYS_futex, raw::address_of(&arena->pristine), 0 /* FUTEX_WAIT */, 0,
              raw::address_of(&limit));
  }
  const iovec to{arena->page, sizeof arena->program_break},
      from{&arena->mark, sizeof arena->program_break};
  if (raw::call(SYS_process_vm_readv, arena->pristine, raw::address_of(&to), 1,
                raw::address_of(&from), 1, 0) != static_cast<long>(to.iov_len))
    return refuse(arena, NotReset::kForGood,
                  "the memory of its sibling cannot be read (process_vm_readv is refused)");
  const long process = raw::call(SYS_pidfd_open, arena->pristine, 0);
  bool gives = process >= 0;
  if (gives && arena->descriptor_count > 0) {
    const long copy = raw::call(SYS_pidfd_getfd, process, arena->descriptors[0].fd, 0);
    gives = copy >= 0;
    if (gives) raw::close(static_cast<int>(copy));
  }
  if (process >= 0) raw::close(static_cast<int>(process));
  return gives || refuse(arena, NotReset::kForGood,
                         "the descriptors of its sibling cannot be had (pidfd_getfd is refused)");
}

// --- descriptors ------------------------------------------------------------------------------------

bool note_descriptors(Arena* arena) {
  const int directory = raw::open_at(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return refuse(arena, NotReset::kForGood, "its descriptors cannot be listed");
  arena->descriptor_count = 0;
  bool fits = true;
  for_each_open_descriptor(directory, [&](int fd, const char*) {
    if (fd == arena->channel) return true;
    fits = arena->descriptor_count < Arena::kMostDescriptors;
    if (!fits) return false;
    arena->descriptors[arena->descriptor_count++] = {fd,
                                                     (raw::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0};
    return true;
  });
  raw::close(directory);
  // In their order: while low numbers are free, what is opened gets the number that it is to have.
  for (uint32_t i = 1; i < arena->descriptor_count; ++i) {
    const KeptDescriptor one = arena->descriptors[i];
    uint32_t at = i;
    for (; at > 0 && arena->descriptors[at - 1].fd > one.fd; --at)
      arena->descriptors[at] = arena->descriptors[at - 1];
    arena->descriptors[at] = one;
  }
  return fits || refuse(arena, NotReset::kForGood, "it has too many descriptors");
}

bool close_all_but(int kept) {
  const auto close_range = [](unsigned first, unsigned last) {
    return first > last || raw::call(SYS_close_range, first, last, 0) == 0;
  };
  const auto number = static_cast<unsigned>(kept);
  return (number == 0 || close_range(0, number - 1)) && close_range(number + 1, ~0U);
}

bool give_back_descriptors(Arena* arena) {
  const long opened = raw::call(SYS_pidfd_open, arena->pristine, 0);
  // Above all numbers that are to come back.
  const int above =
      arena->descriptor_count > 0 ? arena->descriptors[arena->descriptor_count - 1].fd + 1 : 0;
  const long process = raw::fcntl(static_cast<int>(opened), F_DUPFD_CLOEXEC,
                                  above > arena->channel ? above : arena->channel + 1);
  raw::close(static_cast<int>(opened));
  if (process < 0) return refuse(arena, NotReset::kOnce, "its descriptors cannot be given back");
  for (uint32_t i = 0; i < arena->descriptor_count; ++i) {
    const KeptDescriptor& one = arena->descriptors[i];
    const auto made = static_cast<int>(raw::call(SYS_pidfd_getfd, process, one.fd, 0));
    if (made < 0) return refuse(arena, NotReset::kOnce, "a descriptor cannot be given back");
    if (made != one.fd) {
      raw::dup3(made, one.fd, one.closes_on_exec ? O_CLOEXEC : 0);
      raw::close(made);
    } else if (!one.closes_on_exec) {
      raw::fcntl(made, F_SETFD, 0);
    }
  }
  raw::close(static_cast<int>(process));
  return true;
}

// --- the reset --------------------------------------------------------------------------------------

// The clock of CPU time goes on, so the soft limit goes with it.
bool move_cpu_limit(Arena* arena) {
  rlimit64& limit = arena->kernel.limits[RLIMIT_CPU];
  if (limit.rlim_cur == RLIM64_INFINITY) return true;
  timespec used{};
  raw::call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, raw::address_of(&used));
  limit.rlim_cur = arena->cpu_limit + static_cast<uint64_t>(used.tv_sec) + 1;
  return limit.rlim_cur <= limit.rlim_max &&
         raw::call(SYS_prlimit64, 0, RLIMIT_CPU, raw::address_of(&limit), 0) == 0;
}

// Whoever else is in its group has been started by the test, and ends with the execution. The kernel does not tell a process of its
// children whose end it ignores, nor of those whose parent has ended: so it leaves its group for a moment, and looks back.
bool has_others_in_its_group(const Arena& arena) {
  if (raw::call(SYS_setpgid, 0, raw::call(SYS_getpgid, arena.server)) != 0) return true;
  const long others = raw::call(SYS_kill, -arena.child, 0);
  raw::call(SYS_setpgid, 0, 0);
  return others != -ESRCH;
}

bool will_be_compared(const Arena& arena) {
  return arena.resets < kComparedFirst || (arena.resets + 1) % kComparedEvery == 0;
}

// What may be asked while the process can still end as ever.
bool can_be_reset(Arena* arena) {
  if (raw::call(SYS_gettid) != arena->child)
    return refuse(arena, NotReset::kOnce, "another thread than its first one has called exit(3)");
  if (!read_kernel_state(&arena->kernel_now))
    return refuse(arena, NotReset::kOnce, "its state cannot be read");
  if (const char* left = what_it_leaves()) return refuse(arena, NotReset::kOnce, left);
  if (const char* changed = difference_of(arena->kernel, arena->kernel_now))
    return refuse(arena, NotReset::kOnce, changed);
  if (inode_of(arena->channel) != arena->channel_inode)
    return refuse(arena, NotReset::kOnce, "it has closed a descriptor of ours");
  if (has_others_in_its_group(*arena) || shares_pages_with_a_child(arena))
    return refuse(arena, NotReset::kOnce, "it has processes that it started");
  return true;
}

bool give_back(Arena* arena) {
  if (const char* kept = give_back_kernel_state(arena->kernel, arena->kernel_now, arena->pristine))
    return refuse(arena, NotReset::kOnce, kept);
  // The ring of the agent goes before its socket: the daemon tells by it that the process has not left only the session.
  if (!give_back_mappings(arena)) return false;
  if (!close_all_but(arena->channel))
    return refuse(arena, NotReset::kForGood,
                  "its descriptors cannot be closed (close_range is refused)");
  const bool is_compared = will_be_compared(*arena);
  // What it has asked of memory that was there before.
  const char* unusual = is_compared ? unusual_mapping(arena->own_page) : nullptr;
  if (unusual != nullptr) return refuse(arena, NotReset::kOnce, unusual);
  g_tell_ended(*arena);
  if (!give_back_descriptors(arena)) return false;
  uint8_t rseq[kRseqBytes];
  if (arena->rseq != 0) std::memcpy(rseq, reinterpret_cast<const void*>(arena->rseq), sizeof rseq);
  if (!give_back_pages(arena)) return false;
  if (arena->rseq != 0) std::memcpy(reinterpret_cast<void*>(arena->rseq), rseq, sizeof rseq);
  ++arena->resets;
  return (!is_compared || compare_pages(arena)) &&
         (move_cpu_limit(arena) ||
          refuse(arena, NotReset::kForGood, "its limit of CPU time cannot be moved"));
}

// On a stack that is not given back.
void reset_or_end(void* argument) {
  auto* arena = static_cast<Arena*>(argument);
  if (give_back(arena)) filibuster_go_back(&arena->mark);
  for (;;) raw::call(SYS_exit_group, arena->status);
}

}  // namespace

bool refuse(Arena* arena, NotReset refusal, const char* why) {
  if (arena->refusal != NotReset::kNot) return false;
  arena->refusal = refusal;
  size_t size = 0;
  for (; why[size] != '\0' && size + 1 < sizeof arena->why; ++size) arena->why[size] = why[size];
  arena->why[size] = '\0';
  return false;
}

Arena* make_arena() {
#if defined(__x86_64__)
  const long made = raw::call(SYS_mmap, 0, sizeof(Arena), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made < 0 && made > -4096 ? nullptr : reinterpret_cast<Arena*>(made);
#else
  return nullptr;
#endif
}

bool keep_this(Arena* arena, int channel) {
#if defined(__x86_64__)
  arena->child = static_cast<pid_t>(raw::call(SYS_getpid));
  arena->pristine = 0;
  arena->channel = channel;
  arena->channel_inode = inode_of(channel);
  arena->resets = 0;
  arena->refusal = NotReset::kNot;
  arena->why[0] = '\0';
  arena->own_page = page_of_own_process();
  arena->rseq = rseq_of_this_thread();
  g_arena = arena;
  if (const char* unusual = unusual_mapping(arena->own_page))
    return refuse(arena, NotReset::kForGood, unusual);
  if (const char* left = what_it_leaves()) return refuse(arena, NotReset::kForGood, left);
  if (!read_kernel_state(&arena->kernel))
    return refuse(arena, NotReset::kForGood, "its state cannot be read");
  arena->cpu_limit = arena->kernel.limits[RLIMIT_CPU].rlim_cur;
  if (!note_descriptors(arena)) return false;
  arena->program_break = static_cast<uint64_t>(raw::call(SYS_brk, 0));
  if (!make_tell_tale(arena)) return refuse(arena, NotReset::kForGood, "there is no memory");
  if (!read_mappings(&arena->mappings))
    return refuse(arena, NotReset::kForGood, "its mappings cannot be listed, or are too many");
  if (!note_pages(arena)) return false;
  const long sibling = filibuster_make_mark(
      &arena->mark, arena->pristine_stack + sizeof arena->pristine_stack, hold, arena);
  // From here on it is the same process again and again. Whatever is written until the execution begins is written each time.
  set_tell_tale(*arena);
  if (sibling < 0) return refuse(arena, NotReset::kForGood, "no sibling can be made");
  return arena->resets > 0 || try_sibling(arena);
#else
  (void)channel;
  return refuse(arena, NotReset::kForGood, "this processor is not known");
#endif
}

void exit_or_reset(int status, void (*tell_ended)(const Arena& arena)) {
#if defined(__x86_64__)
  Arena* const arena = g_arena;
  if (arena == nullptr || arena->child != static_cast<pid_t>(raw::call(SYS_getpid)) ||
      arena->refusal != NotReset::kNot)
    return;
  // What exit(3) does after this, and does not do for a process that goes on.
  std::fflush(nullptr);
  const uint64_t mask = set_signal_mask(~uint64_t{0});
  arena->status = status & 0xff;
  g_tell_ended = tell_ended;
  if (can_be_reset(arena))
    filibuster_on_stack(arena->stack + sizeof arena->stack, reset_or_end, arena);
  set_signal_mask(mask);  // it ends as any other
#else
  (void)status, (void)tell_ended;
#endif
}

}  // namespace filibuster::preload::reset
