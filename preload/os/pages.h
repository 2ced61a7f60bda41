// Pages straight from the kernel: this never touches the host's heap or errno, and calls no hook.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

// Zeroed, read-write, private. nullptr if the kernel refuses.
inline void* map_pages(size_t size) {
  const long p = raw_syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  return p < 0 && p > -4096 ? nullptr : reinterpret_cast<void*>(p);
}

inline void unmap_pages(void* pages, size_t size) {
  raw_syscall(SYS_munmap, pages, size);
}

}  // namespace filibuster::preload
