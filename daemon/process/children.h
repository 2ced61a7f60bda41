// The children that this process started itself. Since it is a subreaper (orphans.h), it has others, too: they
// are reaped by whoever looks after orphans, and these only by the Process that started them, since a status can be
// read once.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <shared_mutex>

namespace filibuster {

class OwnChildren {
 public:
  static OwnChildren& get();

  // A child is started, or reaped, under this lock: what is neither known here nor yet so is then no orphan.
  std::shared_lock<std::shared_mutex> changing() { return std::shared_lock(changing_); }
  // Nobody starts or reaps a child of ours meanwhile.
  std::unique_lock<std::shared_mutex> standing_still() { return std::unique_lock(changing_); }

  void add(pid_t pid);
  void remove(pid_t pid);
  bool contains(pid_t pid);

 private:
  std::shared_mutex changing_;
  std::mutex mutex_;
  std::set<pid_t> pids_;
};

}  // namespace filibuster
