// Which processes a service is that runs already: those that its row names, with their descendants,
// and where they listen.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/attach/proc.h"
#include "daemon/config/config.h"

namespace filibuster::attach {

struct FoundProcess {
  pid_t pid = 0;
  uint64_t start_time = 0;  // with the pid it names one process of this boot
  bool operator==(const FoundProcess&) const = default;
};

struct FoundService {
  std::string name;
  std::vector<FoundProcess> processes;   // those that its row names come first
  std::vector<ListeningSocket> listens;  // without two rows of one address
  std::string program;  // of the first process, as a person calls it: "users", "users.py"

  std::vector<uint16_t> ports() const;  // in order, each once
};

// Every service of the configuration that runs already. A process belongs to the service that names it, or
// else names the nearest process that it descends from. Error: names the service, what was not found, and
// what to do.
Result<std::vector<FoundService>> find_services(const Config& config, const Proc& proc);

// The process, then those that it started.
std::vector<FoundProcess> with_descendants(const Proc& proc, pid_t pid);
// "users.py" for `python3 users.py`, else the name of the program's file.
std::string program_name(const Proc& proc, pid_t pid);
// Where the process and those that it started listen.
std::vector<ListeningSocket> listens_with_descendants(const Proc& proc, pid_t pid);

// The addresses at which the service is called.
std::vector<TargetRow> target_rows(const FoundService& service);

// The row by which the service can be found again, later or on another machine. A pid is of this run
// alone: its port is taken, or else the name of the program.
AttachConfig row_to_keep(const AttachConfig& attach, const FoundService& service);
// The text of a configuration with such rows in the place of pids; the same text where there are none.
std::string text_to_keep(const std::string& config_text, const std::vector<FoundService>& services);

}  // namespace filibuster::attach
