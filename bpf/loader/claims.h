// Which processes a session has attached, said to all loaders of this machine: a claim of a process is an
// abstract Unix socket that is named after it. It ends with its loader, however that ends. (Abstract names are
// those of a network namespace, so that loaders of two of them do not see each other.)
#pragma once

#include <sys/types.h>

#include <map>

#include "bpf/loader/failure.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

class Claims {
 public:
  // Fails with the name of the loader, and of who started it, that has the process.
  Outcome claim(pid_t process);
  void release(pid_t process) { held_.erase(process); }
  bool has(pid_t process) const { return held_.contains(process); }

 private:
  std::map<pid_t, UniqueFd> held_;
};

}  // namespace filibuster::bpf
