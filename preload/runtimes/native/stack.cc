// Native frames by libunwind's unw_backtrace (under a microsecond once warm). The library is loaded
// into a private scope: it exports _Unwind_*, which would break the exceptions of the host.
//
// libunwind keeps a pipe open to test whether an address can be read. Its descriptors must not take the
// host's lowest numbers, and the host's closefrom loops must not close them: libunwind would then use
// whatever the host opens next. So while libunwind runs (`t_unwinding`), our pipe2 adopts them as ours.
#include <dlfcn.h>
#include <fcntl.h>

#include <atomic>
#include <cerrno>

#include "core/text/number.h"
#include "preload/interpose.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/own_stack.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/native/modules.h"
#include "preload/runtimes/reader.h"

namespace filibuster::preload {
namespace {

constexpr int kMaxFrames = 128;
using Backtrace = int (*)(void**, int);
constinit std::atomic<Backtrace> g_backtrace{nullptr};
constinit thread_local bool t_unwinding __attribute__((tls_model("initial-exec"))) = false;

// libunwind keeps its caches under a mutex, and initialises itself in its first run. A child that is
// forked while another thread is in libunwind would wait for that mutex for ever, or run it half made.
// So a fork waits until no thread is in libunwind, and a capture waits while a thread forks.
constinit std::atomic<int> g_capturing{0};
constinit std::atomic<int> g_forking{0};
constinit thread_local bool t_forking __attribute__((tls_model("initial-exec"))) = false;

class CaptureGate {
 public:
  CaptureGate() {
    for (;;) {
      g_capturing.fetch_add(1);
      // A handler of the host may send a request inside its own fork.
      if (g_forking.load() == 0 || t_forking) return;
      g_capturing.fetch_sub(1);
      raw_syscall(SYS_sched_yield);
    }
  }
  ~CaptureGate() { g_capturing.fetch_sub(1); }
  CaptureGate(const CaptureGate&) = delete;
};

int backtrace_into(Backtrace backtrace, void** frames) {
  t_unwinding = true;
  errno = 0;  // libunwind repeats its probes while errno is EINTR, whoever set that
  const int count = backtrace(frames, kMaxFrames);
  t_unwinding = false;
  return count;
}

// What unw_backtrace keeps for a thread, libunwind gives back in the last round of the thread's destructors, under a lock. So
// late the thread sanitizer, which watches locks, has ended the thread already, and crashes. Walking step by step takes
// microseconds instead of a tenth of one, and keeps nothing.
struct Steps {
  int (*get_context)(void*);
  int (*begin)(void* cursor, void* context);
  int (*step)(void* cursor);
  int (*get_register)(void* cursor, int number, uintptr_t* value);
};
constinit Steps g_steps{};

bool find_steps(void* library) {
#if defined(__x86_64__)
  g_steps.get_context = reinterpret_cast<int (*)(void*)>(dlsym(library, "_Ux86_64_getcontext"));
  g_steps.begin = reinterpret_cast<int (*)(void*, void*)>(dlsym(library, "_ULx86_64_init_local"));
  g_steps.step = reinterpret_cast<int (*)(void*)>(dlsym(library, "_ULx86_64_step"));
  g_steps.get_register =
      reinterpret_cast<int (*)(void*, int, uintptr_t*)>(dlsym(library, "_ULx86_64_get_reg"));
#else
  static_cast<void>(library);
#endif
  return g_steps.get_context != nullptr && g_steps.begin != nullptr && g_steps.step != nullptr &&
         g_steps.get_register != nullptr;
}

int backtrace_by_steps(void** frames, int most) {
  constexpr int kInstruction = 16;    // UNW_X86_64_RIP
  alignas(16) uint64_t context[160];  // unw_context_t is a ucontext_t of 968 bytes
  alignas(16) uint64_t cursor[127];   // unw_cursor_t
  int count = 0;
  if (g_steps.get_context(context) != 0 || g_steps.begin(cursor, context) != 0) return 0;
  do {
    uintptr_t address = 0;
    if (g_steps.get_register(cursor, kInstruction, &address) != 0) break;
    frames[count++] = reinterpret_cast<void*>(address);
  } while (count < most && g_steps.step(cursor) > 0);
  return count;
}

std::string_view prepare_here() {
  const CaptureGate gate;
  if (g_backtrace.load(std::memory_order_acquire) != nullptr) return "libunwind 8";
  void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "no libunwind";
  auto backtrace = reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  if (dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr)
    backtrace = find_steps(library) ? backtrace_by_steps : nullptr;
  if (backtrace == nullptr) return "no libunwind";
  // The first run opens files and allocates. It happens here, not in the middle of a request.
  void* frames[kMaxFrames];
  backtrace_into(backtrace, frames);
  refresh_modules();
  g_backtrace.store(backtrace, std::memory_order_release);
  return "libunwind 8";
}

void add_frame(uintptr_t address, const ModuleInfo& module, FrameSink* sink) {
  const uintptr_t offset = address - module.bias;
  char digits[20];
  sink->add(native_frame_hash(module.identity, offset),
            {"N ", module.id(), "+", number_text(offset, 16, digits), " ", module.path()});
}

bool read_here(FrameSink* sink) {
  const Backtrace backtrace = g_backtrace.load(std::memory_order_acquire);
  if (backtrace == nullptr) return true;  // no stack, not an incomplete one: Hello::notes says so
  const CaptureGate gate;
  void* frames[kMaxFrames];
  const int count = backtrace_into(backtrace, frames);
  refresh_modules();
  ModuleInfo module;
  bool made_at_run_time = false;  // some of the code is: the frames that are left name no call site
  for (bool keep_all : {false, true}) {
    if (keep_all) sink->begin_with_libraries();
    if (count == kMaxFrames) sink->mark_incomplete();
    for (int i = 0; i < count; ++i) {
      // A return address may be the first byte of another line or function; the call is before it.
      const auto address = reinterpret_cast<uintptr_t>(frames[i]) - 1;
      // Most frames are in the same module as the one before.
      const bool same = address >= module.begin && address < module.end;
      if (!same && !find_module(address, &module)) {
        module.end = 0;
        // The code was made at run time, or the list is just changing: the frame has no lasting name.
        sink->mark_incomplete();
        made_at_run_time = true;
        continue;
      }
      if (module.engine) {
        made_at_run_time = true;
        continue;
      }
      if (!module.runtime || (keep_all && !module.loop)) add_frame(address, module, sink);
    }
    if (sink->frames() > 0 || made_at_run_time) break;
  }
  return true;
}

// libunwind, and the loader, take some KiB of the stack that they run on.
std::string_view prepare() {
  return on_own_stack(prepare_here);
}
bool read(FrameSink* sink) {
  return on_own_stack([&] { return read_here(sink); });
}

}  // namespace

constinit const StackReader kNativeReader{prepare, read};

void pause_captures_for_fork() {
  // A capture takes microseconds, the first one some milliseconds. The wait is bounded all the same: a
  // fork in a signal handler that interrupted a capture must go on.
  constexpr uint64_t kLimitNs = 100'000'000;
  t_forking = true;
  g_forking.fetch_add(1);
  wait_until([] { return g_capturing.load() <= 0; }, kLimitNs);
}

void resume_captures_after_fork(bool child) {
  t_forking = false;
  if (child) {
    g_capturing.store(0);  // the other threads are not in the child
    g_forking.store(0);
  } else {
    g_forking.fetch_sub(1);
  }
}

}  // namespace filibuster::preload

FILIBUSTER_HOOK(int, pipe2, (int ends[2], int flags)) {
  using namespace filibuster::preload;
  if (!t_unwinding) return REAL(pipe2)(ends, flags);
  int made[2];
  const long result = raw_syscall(SYS_pipe2, made, flags);
  if (result != 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  for (int i = 0; i < 2; ++i) {
    const int high = adopt_descriptor(made[i]);
    ends[i] = high >= 0 ? high : made[i];
  }
  return 0;
}
