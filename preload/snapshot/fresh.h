// What a child of the snapshot makes anew, so that it shares no open file description with the process
// that it was forked from: sockets that are not connected yet, epoll sets, pipes to itself, files.
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

namespace filibuster::preload {

// `log_inode` is the log that the parent writes to; `log` takes the place of every descriptor of it, and
// is closed.
void make_descriptors_fresh(ino_t log_inode, int log);
// The same without the log, which comes later by replace_log.
void make_descriptors_fresh_but_log(ino_t log_inode);

// Only that the log is another one from now on, in a process that goes on by itself.
void replace_log(ino_t log_inode, int log);

// Timers are not inherited by fork(2). They are read in the parent and armed again in the child.
class Timers {
 public:
  static constexpr int kMost = 8;
  // False: there are timers that cannot be made again.
  bool read();
  void make_again() const;

 private:
  struct One {
    int id = 0;
    int clock = 0;
    sigevent event{};
    itimerspec time{};
  };
  itimerval intervals_[3] = {};
  One list_[kMost];
  int count_ = 0;
};

}  // namespace filibuster::preload
