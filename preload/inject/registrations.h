// Which numbers of this process name one socket, and in which epoll sets they are registered: read
// from /proc, with raw calls into the stack, because the application's own bookkeeping is out of
// reach (and io_uring and other threads register too).
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace filibuster::preload {

inline constexpr int kMaxAliases = 8;         // descriptors of one socket (dup)
inline constexpr int kMaxRegistrations = 32;  // over all of its descriptors and epoll sets

struct Registrations {
  struct One {
    int set;  // the epoll descriptor
    int fd;   // the registered number
    epoll_event event;
  };
  One list[kMaxRegistrations];
  int count = 0;
  // `fd` first, then the other numbers of the same socket.
  int aliases[kMaxAliases];
  int alias_count = 0;
};

// nullptr if complete, else why not (a text for the report): then nothing may be replaced.
const char* find_registrations(int fd, Registrations* out);

}  // namespace filibuster::preload
