// Which numbers of this process name one socket, and in which epoll sets they are registered. This is read
// from /proc, by raw system calls and into the stack, because the application's own bookkeeping is out of
// reach (and io_uring and other threads register too).
#pragma once

#include <sys/epoll.h>

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

// What find_registrations found must hold until the descriptor is replaced: a registration that
// another thread makes in between would stay with the old socket, and whoever waits in that set
// would wait for ever. So the epoll_ctl of the application and the replacing of a descriptor
// exclude each other. (What registers by io_uring or by a raw system call is not kept waiting.)

// Around an epoll_ctl of the application: waits while a descriptor is being replaced. Bounded:
// after about a second it goes on without (the replacing thread may have been stopped).
class RegistrationChange {
 public:
  RegistrationChange();
  ~RegistrationChange();
  RegistrationChange(const RegistrationChange&) = delete;

 private:
  bool counted_;
};

// To be held from before find_registrations until the descriptor is replaced.
class RegistrationFreeze {
 public:
  RegistrationFreeze() = default;
  ~RegistrationFreeze() { end(); }
  RegistrationFreeze(const RegistrationFreeze&) = delete;
  // Waits for another freeze, then for the changes under way, each about a second at most. False:
  // not frozen.
  bool begin();
  void end();

 private:
  bool frozen_ = false;
};

// Called in a forked child, which does not have the threads that were in the middle of a change or freeze.
void forget_registration_changes();

}  // namespace filibuster::preload
