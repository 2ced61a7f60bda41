// Reading text of /proc without libc and without a heap.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

// Calls `take` for each line of the file, until it returns true: then the result is true, too. A line
// that is longer than 2 KiB is left out.
template <typename Take>
bool any_line(const char* path, const Take& take) {
  const int file =
      static_cast<int>(raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return false;
  char buffer[2048];
  size_t kept = 0;
  bool found = false;
  while (!found) {
    const long n = raw_syscall(SYS_read, file, buffer + kept, sizeof buffer - kept);
    if (n == -EINTR) continue;
    if (n <= 0) break;
    const size_t size = kept + static_cast<size_t>(n);
    size_t begin = 0;
    while (!found && begin < size) {
      const void* end = std::memchr(buffer + begin, '\n', size - begin);
      if (end == nullptr) break;
      const size_t next = static_cast<size_t>(static_cast<const char*>(end) - buffer) + 1;
      found = take(std::string_view(buffer + begin, next - 1 - begin));
      begin = next;
    }
    kept = size - begin;
    if (kept == sizeof buffer) kept = 0;
    std::memmove(buffer, buffer + begin, kept);
  }
  raw_syscall(SYS_close, file);
  return found;
}

// The number after `label` in `line`, in base 10 or 16; false if it is not there.
inline bool number_field(std::string_view line, std::string_view label, uint64_t base,
                         uint64_t* out) {
  const size_t at = line.find(label);
  if (at == std::string_view::npos) return false;
  size_t i = at + label.size();
  while (i < line.size() && line[i] == ' ') ++i;
  const size_t first = i;
  uint64_t value = 0;
  for (; i < line.size(); ++i) {
    const char c = line[i];
    const uint64_t digit = c >= '0' && c <= '9'   ? static_cast<uint64_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<uint64_t>(c - 'a') + 10
                                                  : base;
    if (digit >= base) break;
    value = value * base + digit;
  }
  *out = value;
  return i > first;
}

}  // namespace filibuster::preload
