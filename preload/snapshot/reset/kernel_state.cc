#include "preload/snapshot/reset/kernel_state.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/text/number.h"
#include "preload/inject/raw.h"
#include "preload/os/proc_text.h"

namespace filibuster::preload::reset {
namespace {

// Lines of /proc/self/status (proc(5)). The others tell of memory, of time, and of what is given back.
struct Line {
  std::string_view label;
  const char* changed;
};
constexpr const char* kUsers = "its users or groups have changed";
constexpr const char* kSignals = "signals wait for it";
constexpr const char* kRights = "its capabilities have changed";
constexpr const char* kSpeculation = "its speculation has changed (PR_SET_SPECULATION_CTRL)";
constexpr Line kLines[] = {
    {"TracerPid:", "whether it is traced has changed"},
    {"Uid:", kUsers},
    {"Gid:", kUsers},
    {"Groups:", kUsers},
    {"VmLck:", "its locked memory has changed"},
    {"Threads:", "it has threads that have not ended"},
    {"SigPnd:", kSignals},
    {"ShdPnd:", kSignals},
    {"CapInh:", kRights},
    {"CapPrm:", kRights},
    {"CapEff:", kRights},
    {"CapBnd:", kRights},
    {"CapAmb:", kRights},
    {"NoNewPrivs:", "whether it gets new rights has changed (PR_SET_NO_NEW_PRIVS)"},
    {"Seccomp:", "it restricts its system calls (seccomp)"},
    {"Seccomp_filters:", "it restricts its system calls (seccomp)"},
    {"Speculation_Store_Bypass:", kSpeculation},
    {"SpeculationIndirectBranch:", kSpeculation},
    {"Cpus_allowed:", "its processors have changed"},
    {"Mems_allowed:", "its memory nodes have changed"},
    {"THP_enabled:", "its huge pages have changed (PR_SET_THP_DISABLE)"},
    {"x86_Thread_features:", "its shadow stack has changed"}};

struct Number {
  const char* changed;
  long (*read)();
};

constexpr int kOfProcess = 1;  // IOPRIO_WHO_PROCESS
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68
#endif

long by_prctl(int option) {
  return raw::call(SYS_prctl, option);
}
long by_prctl_at(int option) {
  int value = 0;
  const long result = raw::call(SYS_prctl, option, raw::address_of(&value));
  return result < 0 ? result : value;
}

// The beginning of the text: a number.
long text_of(const char* path) {
  const int file = raw::open_at(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long text = 0;
  raw::read(file, reinterpret_cast<char*>(&text), sizeof text);
  raw::close(file);
  return text;
}

constexpr Number kNumbersOf[] = {
    {"its priority has changed", [] { return raw::call(SYS_getpriority, PRIO_PROCESS, 0); }},
    {"its scheduling policy has changed", [] { return raw::call(SYS_sched_getscheduler, 0); }},
    {"its scheduling priority has changed",
     [] {
       int value = 0;
       raw::call(SYS_sched_getparam, 0, raw::address_of(&value));
       return static_cast<long>(value);
     }},
    {"its I/O priority has changed", [] { return raw::call(SYS_ioprio_get, kOfProcess, 0); }},
    {"its timer slack has changed", [] { return by_prctl(PR_GET_TIMERSLACK); }},
    {"whether it can be dumped has changed", [] { return by_prctl(PR_GET_DUMPABLE); }},
    {"its signal at the end of its parent has changed",
     [] { return by_prctl_at(PR_GET_PDEATHSIG); }},
    {"whether it adopts orphans has changed", [] { return by_prctl_at(PR_GET_CHILD_SUBREAPER); }},
    {"its secure bits have changed", [] { return by_prctl(PR_GET_SECUREBITS); }},
    {"its time stamp counter has changed", [] { return by_prctl_at(PR_GET_TSC); }},
    {"whether its pages are merged has changed", [] { return by_prctl(PR_GET_MEMORY_MERGE); }},
    {"its execution domain has changed", [] { return raw::call(SYS_personality, 0xffffffff); }},
    {"its session has changed", [] { return raw::call(SYS_getsid, 0); }},
    {"its process group has changed", [] { return raw::call(SYS_getpgid, 0); }},
    {"its memory policy has changed",
     [] {
       int mode = 0;
       const long result = raw::call(SYS_get_mempolicy, raw::address_of(&mode));
       return result < 0 ? result : static_cast<long>(mode);
     }},
    {"its file system user has changed", [] { return raw::call(SYS_setfsuid, -1); }},
    {"its file system group has changed", [] { return raw::call(SYS_setfsgid, -1); }},
    {"its score for the want of memory has changed",
     [] { return text_of("/proc/self/oom_score_adj"); }},
    {"what a dump of it contains has changed",
     [] { return text_of("/proc/self/coredump_filter"); }},
};
static_assert(std::size(kNumbersOf) <= KernelState::kNumbers);

constexpr const char* kNamespaceFiles[KernelState::kNamespaces] = {
    "/proc/self/ns/cgroup", "/proc/self/ns/ipc",  "/proc/self/ns/mnt",  "/proc/self/ns/net",
    "/proc/self/ns/pid",    "/proc/self/ns/user", "/proc/self/ns/time", "/proc/self/ns/uts"};

bool identify(const char* path, uint64_t* device, uint64_t* inode) {
  struct stat status;
  if (raw::call(SYS_newfstatat, AT_FDCWD, raw::address_of(path), raw::address_of(&status), 0) != 0)
    return false;
  if (device != nullptr) *device = status.st_dev;
  *inode = status.st_ino;
  return true;
}

bool is_kept(std::string_view line) {
  for (const Line& one : kLines)
    if (line.starts_with(one.label)) return true;
  return false;
}

// In the lines that were kept.
std::string_view line_of(const KernelState& state, std::string_view label) {
  std::string_view rest(state.status, state.status_size);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (rest.starts_with(label)) return rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  return {};
}

const char* status_difference_of(const KernelState& before, const KernelState& now) {
  if (before.status_size == now.status_size &&
      std::memcmp(before.status, now.status, now.status_size) == 0)
    return nullptr;
  for (const Line& one : kLines)
    if (line_of(before, one.label) != line_of(now, one.label)) return one.changed;
  return "its state has changed (/proc/self/status)";
}

long action_of(int signal, const KernelAction* set, KernelAction* get) {
  return raw::call(SYS_rt_sigaction, signal, raw::address_of(set), raw::address_of(get), 8);
}

}  // namespace

bool read_kernel_state(KernelState* out) {
  std::memset(out, 0, sizeof *out);
  for (int signal = 1; signal <= KernelState::kSignals; ++signal)
    action_of(signal, nullptr, &out->actions[signal - 1]);
  raw::call(SYS_sigaltstack, 0, raw::address_of(&out->alternate_stack));
  out->umask = raw::call(SYS_umask, 0);
  raw::call(SYS_umask, out->umask);
  raw::call(SYS_prctl, PR_GET_NAME, raw::address_of(out->name));
  any_line("/proc/self/status", [out](std::string_view line) {
    if (!is_kept(line) || out->status_size + line.size() + 1 > sizeof out->status) return false;
    std::memcpy(out->status + out->status_size, line.data(), line.size());
    out->status_size += static_cast<uint32_t>(line.size());
    out->status[out->status_size++] = '\n';
    return false;
  });
  for (size_t i = 0; i < std::size(kNumbersOf); ++i) out->numbers[i] = kNumbersOf[i].read();
  for (int i = 0; i < KernelState::kNamespaces; ++i)
    identify(kNamespaceFiles[i], nullptr, &out->namespaces[i]);
  for (int i = 0; i < KernelState::kLimits; ++i)
    raw::call(SYS_prlimit64, 0, i, 0, raw::address_of(&out->limits[i]));
  return out->status_size > 0 &&
         identify("/proc/self/cwd", &out->directory_device, &out->directory_inode) &&
         identify("/proc/self/root", &out->root_device, &out->root_inode);
}

const char* difference_of(const KernelState& before, const KernelState& now) {
  if (const char* changed = status_difference_of(before, now)) return changed;
  for (size_t i = 0; i < std::size(kNumbersOf); ++i)
    if (before.numbers[i] != now.numbers[i]) return kNumbersOf[i].changed;
  if (before.root_device != now.root_device || before.root_inode != now.root_inode)
    return "its root directory has changed";
  if (std::memcmp(before.namespaces, now.namespaces, sizeof now.namespaces) != 0)
    return "its namespaces have changed";
  if (std::memcmp(before.limits, now.limits, sizeof now.limits) != 0)
    return "its limits have changed";
  return nullptr;
}

const char* give_back_kernel_state(const KernelState& before, const KernelState& now,
                                   pid_t sibling) {
  for (int signal = 1; signal <= KernelState::kSignals; ++signal) {
    const KernelAction& action = before.actions[signal - 1];
    if (std::memcmp(&action, &now.actions[signal - 1], sizeof action) != 0)
      action_of(signal, &action, nullptr);
  }
  if (before.alternate_stack.ss_sp != now.alternate_stack.ss_sp ||
      before.alternate_stack.ss_size != now.alternate_stack.ss_size ||
      before.alternate_stack.ss_flags != now.alternate_stack.ss_flags)
    raw::call(SYS_sigaltstack, raw::address_of(&before.alternate_stack), 0);
  const itimerval none{};
  for (int which = 0; which < 3; ++which)
    raw::call(SYS_setitimer, which, raw::address_of(&none), 0);
  // Signals are blocked, and none waited when this was asked before.
  uint64_t waiting = 0;
  raw::call(SYS_rt_sigpending, raw::address_of(&waiting), sizeof waiting);
  constexpr uint64_t kOfTimers =
      uint64_t{1} << (SIGALRM - 1) | uint64_t{1} << (SIGVTALRM - 1) | uint64_t{1} << (SIGPROF - 1);
  if ((waiting & kOfTimers) != 0) return "a timer of it expired at its end";
  if (before.umask != now.umask) raw::call(SYS_umask, before.umask);
  if (std::memcmp(before.name, now.name, sizeof now.name) != 0)
    raw::call(SYS_prctl, PR_SET_NAME, raw::address_of(before.name));
  if (before.directory_device == now.directory_device &&
      before.directory_inode == now.directory_inode)
    return nullptr;
  char digits[20];
  const std::string_view number = number_text(static_cast<uint64_t>(sibling), 10, digits);
  char path[40] = "/proc/";
  std::memcpy(path + 6, number.data(), number.size());
  std::memcpy(path + 6 + number.size(), "/cwd", 5);
  return raw::call(SYS_chdir, raw::address_of(path)) == 0 ? nullptr
                                                          : "its working directory is gone";
}

const char* what_it_leaves() {
  siginfo_t info{};
  if (raw::call(SYS_waitid, P_ALL, 0, raw::address_of(&info),
                WEXITED | WNOHANG | WNOWAIT | __WALL) != -ECHILD)
    return "it has processes that it started";
  rusage used;
  const rusage none{};
  raw::call(SYS_getrusage, RUSAGE_CHILDREN, raw::address_of(&used));
  if (std::memcmp(&used, &none, sizeof used) != 0) return "it started other processes";
  const long file = raw::open_at(AT_FDCWD, "/proc/self/timers", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "its timers cannot be listed (/proc/self/timers)";
  char first;
  const long size = raw::read(static_cast<int>(file), &first, 1);
  raw::close(static_cast<int>(file));
  return size != 0 ? "it has timers (timer_create)" : nullptr;
}

}  // namespace filibuster::preload::reset
