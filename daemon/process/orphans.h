// Orphans: processes that something of a lane started, and whose parent has ended. A program that becomes a daemon
// does so (it forks twice, and leads a session of its own), and so does the child of a service that was killed.
// No signal to a process group reaches them, so the kernel gives them to this process (PR_SET_CHILD_SUBREAPER).
//
// A lane marks what it starts by a variable of the environment, which the children inherit. The mark tells the lanes'
// orphans apart, and after this daemon was killed it tells the next one what is left. It is drawn at random for each
// lane, so that nothing else on the machine has it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace filibuster {

// FILIBUSTER_OWNER=MARK:NAME, where NAME is a service of the configuration, "test" or "hook".
inline constexpr char kOwnerVariable[] = "FILIBUSTER_OWNER";
std::string make_owner_mark();

struct MarkedProcess {
  pid_t pid = 0;
  uint64_t start_time = 0;
  std::string program;       // as proc(5) names it
  std::string mark;          // "": its environment was cleared or overwritten, or cannot be read
  std::string started_by;    // NAME of the variable
  bool leads_group = false;  // of processes that get its signals, too
};
// "users (pid 12)"
std::string to_text(const MarkedProcess& process);

// From now on orphans are given to this process, and whoever calls this calls reap_orphans() at each SIGCHLD.
void become_parent_of_orphans();
// Reaps those that have ended. The children that this process started are left to their Process.
void reap_orphans();
// Reaps those that have ended, and returns those that run.
std::vector<MarkedProcess> orphans();

// Every process of this machine whose mark is one of these.
std::vector<MarkedProcess> processes_marked(const std::set<std::string>& marks);

struct Ended {
  std::vector<MarkedProcess> all;    // that were asked to end
  std::vector<MarkedProcess> alive;  // that could not be ended
};
// Ends what `find` finds, and then what it finds next (the children of those that ended), until that is nothing: by
// SIGTERM, and after `grace` by SIGKILL.
Ended end_processes(const std::function<std::vector<MarkedProcess>()>& find,
                    std::chrono::milliseconds grace);

}  // namespace filibuster
