// What proc(5) tells of the processes of this machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace filibuster {

struct ProcessStat {
  std::string name;  // of the program, at most 15 bytes
  char state = 0;
  pid_t parent = 0, group = 0;
  uint64_t start_time = 0;
  uint32_t threads = 0;
  // A process whose first thread has ended goes on with the others, and keeps its files open.
  bool has_ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};
// nullopt: no such process.
std::optional<ProcessStat> process_stat(pid_t pid);

// The effective user of a process; nullopt: no such process.
std::optional<uid_t> process_user(pid_t pid);

// Each process of this machine that /proc shows.
void for_each_process(const std::function<void(pid_t)>& see);

// The children of this process, those that ended and are not reaped included. They are complete for the thread that
// gets orphans (the first one), and, where the kernel has no such list, for all threads.
std::vector<pid_t> children_of_this_process();

// Whether one of these children, or of theirs, and so on, is a process of this user. Since orphans come to this process,
// that is whatever it has started.
bool has_descendant_of(uid_t user);

// A variable of the environment with which a process was started; "": it has none, or it cannot be read.
std::string environment_of(pid_t pid, const std::string& name);

}  // namespace filibuster
