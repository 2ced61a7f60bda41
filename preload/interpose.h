// How to add a hook:
//   1. FILIBUSTER_HOOK(ssize_t, send, (int fd, const void* data, size_t size, int flags)) { ... }
//      in the file of preload/hooks/ it belongs to; the macro exports it and declares the original.
//   2. Open it with `HookScope scope;` and leave at once when `scope.pass_through()`.
//   3. Call the original as REAL(send)(...). Around a blocking original hold no lock.
//
// How it works: the exported function shadows libc's for the whole process. REAL(name) resolves
// the next definition once (RTLD_NEXT) and keeps it in a constant-initialised atomic, so that a
// hook that runs before our constructor works. While dlsym itself runs, hooks it calls pass through
// by the raw system call (HookScope sees the nesting).
//
// HookScope saves errno on entry and restores it on exit (`keep_errno()` and `set_errno()` change
// what is restored), and counts nesting per thread (a hook called from inside a hook passes
// through). It is not held across an original that may block: a signal handler that leaves by
// longjmp, or a cancelled thread, would leave the count behind. Such hooks have a scope before and
// one after. A vfork child shares our memory: what keeps books asks own_process() first (agent.h).
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

namespace filibuster::preload {

// initial-exec: no lazy TLS allocation inside someone else's process.
extern constinit thread_local int t_hook_depth __attribute__((tls_model("initial-exec")));

class HookScope {
 public:
  HookScope() : errno_(errno) { ++t_hook_depth; }
  ~HookScope() {
    --t_hook_depth;
    if (restore_) errno = errno_;
  }
  HookScope(const HookScope&) = delete;
  // Nested: called by our own code or by libc inside a hook.
  bool pass_through() const { return t_hook_depth > 1; }
  // The errno of the original is the caller's: call right after it, then it is what exit restores.
  void keep_errno() { errno_ = errno; }
  void set_errno(int value) { errno_ = value; }

 private:
  int errno_;
  bool restore_ = true;
};

// Resolves `name` in the objects after ours. While a resolution runs in this thread already: a raw
// system call of that name, and `*final` is false (not to be remembered). nullptr only for a name
// that no object after ours defines.
void* resolve_next(const char* name, bool* final);

// Every declared original, collected by the linker, so that the constructor can resolve them all
// while the process is still young (dlsym takes locks that a forked child may find held).
struct HookRow {
  const char* name;
  std::atomic<void*>* original;
};

}  // namespace filibuster::preload

#define REAL(name) (::filibuster::preload::real_##name())

#define FILIBUSTER_REAL(ret, name, params)                                                    \
  namespace filibuster::preload {                                                             \
  using Type_##name = ret(*) params;                                                          \
  inline std::atomic<void*> g_real_##name{nullptr};                                           \
  __attribute__((section("filibuster_hooks"), used)) static const HookRow kHookRow_##name = { \
      #name, &g_real_##name};                                                                 \
  inline Type_##name real_##name() {                                                          \
    void* f = g_real_##name.load(std::memory_order_relaxed);                                  \
    if (__builtin_expect(f == nullptr, 0)) {                                                  \
      bool final = false;                                                                     \
      f = resolve_next(#name, &final);                                                        \
      if (final) g_real_##name.store(f, std::memory_order_relaxed);                           \
    }                                                                                         \
    return reinterpret_cast<Type_##name>(f);                                                  \
  }                                                                                           \
  }

#define FILIBUSTER_HOOK(ret, name, params) \
  FILIBUSTER_REAL(ret, name, params)       \
  extern "C" __attribute__((visibility("default"))) ret name params
