#include "preload/os/clock.h"

#include <sys/auxv.h>

namespace filibuster::preload {

constinit SharedClock g_clock;

namespace {

__attribute__((constructor(101))) void find_clock() {
  g_clock.use_vdso(reinterpret_cast<const void*>(getauxval(AT_SYSINFO_EHDR)));
}

}  // namespace
}  // namespace filibuster::preload
