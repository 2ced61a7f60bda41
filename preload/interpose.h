// How to add a hook:
//   1. FILIBUSTER_HOOK(ssize_t, send, (int fd, const void* data, size_t size, int flags)) { ... }
//      in the file of preload/hooks/ it belongs to; the macro exports it and declares the original.
//   2. Open it with `HookScope scope;` and leave at once when `scope.pass_through()`.
//   3. Call the original as REAL(send)(...). Around a blocking original hold no lock.
//   4. Add the name to preload/exports.map, or it is not exported.
//
// How it works: the exported function shadows libc's for the whole process. REAL(name) resolves
// the next definition once (RTLD_NEXT) and keeps it in a constant-initialised atomic, so that a hook
// that runs before our constructor works. While dlsym itself runs, hooks it calls pass through
// by the raw system call (HookScope sees the nesting).
//
// HookScope saves errno on entry and restores it on exit unless `keep_errno()` was called after the
// original, counts nesting per thread (a hook called from inside a hook passes through), and notices
// a vfork child (own_process()).
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

namespace filibuster::preload {

// initial-exec: no lazy TLS allocation inside someone else's process.
extern thread_local int t_hook_depth __attribute__((tls_model("initial-exec")));

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

// Resolves `name` in the objects after ours; never nullptr for a libc function that exists.
void* resolve_next(const char* name);

}  // namespace filibuster::preload

#define REAL(name) (::filibuster::preload::real_##name())

#define FILIBUSTER_REAL(ret, name, params)                                            \
  namespace filibuster::preload {                                                     \
  using Type_##name = ret(*) params;                                                  \
  inline std::atomic<Type_##name> g_real_##name{nullptr};                             \
  inline Type_##name real_##name() {                                                  \
    Type_##name f = g_real_##name.load(std::memory_order_relaxed);                    \
    if (__builtin_expect(f == nullptr, 0)) {                                          \
      f = reinterpret_cast<Type_##name>(resolve_next(#name));                         \
      g_real_##name.store(f, std::memory_order_relaxed);                              \
    }                                                                                 \
    return f;                                                                         \
  }                                                                                   \
  }

#define FILIBUSTER_HOOK(ret, name, params) \
  FILIBUSTER_REAL(ret, name, params)       \
  extern "C" __attribute__((visibility("default"))) ret name params
