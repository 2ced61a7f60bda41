// The descriptors 0, 1 and 2 of a program that somebody started without them (`filibuster run >&- 2>&-`).
#pragma once

#include <fcntl.h>

namespace filibuster {

// What is missing leads to /dev/null: else the next file or socket that is opened gets its number, and what is written to the
// standard output goes there. To be called before anything is opened.
inline void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number that is free is this one.
    [[maybe_unused]] const int opened = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace filibuster
