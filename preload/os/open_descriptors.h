// The descriptors that this process has open, from /proc: as many system calls as there are pages of
// entries, however high the limit of descriptors is.
#pragma once

#include <cstdint>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

// struct linux_dirent64 (getdents64(2)).
struct Dirent64 {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

// Calls `visit(number, name)` for each descriptor but `directory`, which is an open descriptor of
// /proc/thread-self/fd. `visit` returns whether to go on. False: the directory is not readable.
template <typename Visit>
bool for_each_open_descriptor(int directory, const Visit& visit) {
  raw_syscall(SYS_lseek, directory, 0, 0);
  alignas(Dirent64) char entries[2048];
  for (;;) {
    const long n = raw_syscall(SYS_getdents64, directory, entries, sizeof entries);
    if (n < 0) return false;
    if (n == 0) return true;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const Dirent64*>(entries + at);
      at += entry->size;
      int number = 0;
      const char* c = entry->name;
      for (; *c >= '0' && *c <= '9'; ++c) number = number * 10 + (*c - '0');
      if (c == entry->name || *c != 0 || number == directory) continue;
      if (!visit(number, entry->name)) return true;
    }
  }
}

}  // namespace filibuster::preload
