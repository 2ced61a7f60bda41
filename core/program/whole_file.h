// A copy of a program's file, for who keeps what is read from it: a file that is overwritten in place must not end us, as it would
// through a mapping.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace filibuster {

// Empty where it cannot be read.
inline std::string whole_file(const std::string& path) {
  std::string bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_size > 0)
    bytes.resize(static_cast<size_t>(status.st_size));
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + size, bytes.size() - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  close(fd);
  return bytes;
}

}  // namespace filibuster
