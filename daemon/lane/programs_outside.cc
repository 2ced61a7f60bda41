#include "daemon/lane/programs_outside.h"

#include <algorithm>

#include "daemon/process/ports.h"
#include "daemon/process/preflight.h"

namespace filibuster {

std::string why_outside(const attach::Proc& proc, pid_t pid) {
  const std::string executable = proc.executable(pid);
  if (executable.empty()) return "";
  const std::string who = "pid " + std::to_string(pid) + " (" + executable + "), which ";
  const ProgramCheck check = check_elf(executable);
  if (!check.obstacles.empty()) return who + check.obstacles[0];
  if (proc.has_mapped(pid, "libfilibuster.so")) return "";
  return who + "was started without LD_PRELOAD, or what started it has taken the variable away";
}

std::string listener_outside(const attach::Proc& proc, const Config& config,
                             const SessionLane& lane, const std::string& service) {
  const auto row = std::find_if(config.services.begin(), config.services.end(),
                                [&](const ServiceConfig& one) { return one.name == service; });
  if (row == config.services.end()) return "";
  for (const auto& [name, fixed] : row->ports) {
    const auto port = lane.ports.find(name);
    const auto holder = port_holder(port == lane.ports.end() ? fixed : port->second);
    if (!holder || holder->pid == 0) continue;
    const std::string why = why_outside(proc, holder->pid);
    if (!why.empty()) return " At its port listens " + why;
  }
  return "";
}

}  // namespace filibuster
