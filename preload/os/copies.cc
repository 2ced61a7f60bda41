#include "preload/os/copies.h"

#include <dlfcn.h>

using filibuster::preload::CopyMark;

extern "C" {
constinit __attribute__((visibility("default"))) CopyMark filibuster_first_copy{};
extern __attribute__((visibility("hidden"), alias("filibuster_first_copy")))
CopyMark filibuster_this_copy;
}

namespace filibuster::preload {

const char* path_of_this_copy() {
  Dl_info info;
  return dladdr(&filibuster_this_copy, &info) != 0 ? info.dli_fname : nullptr;
}

bool is_of_any_copy(const void* function) {
  Dl_info here, there, mark;
  if (dladdr(&filibuster_this_copy, &here) == 0 || dladdr(function, &there) == 0) return true;
  if (here.dli_fbase == there.dli_fbase) return true;
  if (!is_inert_copy() && path_of_inert_copy() == nullptr) return false;  // this is the only one
  void* object = dlopen(there.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  const void* known = object != nullptr ? dlsym(object, "filibuster_first_copy") : nullptr;
  return known != nullptr && dladdr(known, &mark) != 0 && mark.dli_fbase == there.dli_fbase;
}

namespace {

// Of several copies, the last one that starts is named.
__attribute__((constructor(101))) void tell_first_copy() {
  if (is_inert_copy() && filibuster_first_copy.version >= 1)
    filibuster_first_copy.inert.store(path_of_this_copy(), std::memory_order_release);
}

}  // namespace
}  // namespace filibuster::preload
