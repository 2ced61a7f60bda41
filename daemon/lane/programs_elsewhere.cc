#include "daemon/lane/programs_elsewhere.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/protocol/control_page.h"
#include "daemon/lane/application.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;
using attach::Proc;
using attach::ProcessTable;

constexpr const char kLibrary[] = "libfilibuster.so";
constexpr size_t kTold = 8;

// The value of a variable in the environment with which a process was started; "": it has none.
std::string variable(const std::string& environment, const std::string& name) {
  const std::string begin = name + "=";
  for (size_t at = 0; at < environment.size();) {
    const std::string one = environment.c_str() + at;
    if (one.starts_with(begin)) return one.substr(begin.size());
    at += one.size() + 1;
  }
  return "";
}

bool is_of_this_user(const Proc& proc, pid_t pid) {
  struct stat status {};
  return ::stat(proc.path_of(pid).c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

std::string name_of(const Proc& proc, pid_t pid, const std::string& environment) {
  const std::string given = variable(environment, "FILIBUSTER_SERVICE");
  return given.empty() ? fs::path(proc.executable(pid)).filename().string() : given;
}

// As the agent finds it, but for programs that have changed their folder since they were started.
std::string application_of_process(const Proc& proc, pid_t pid, const std::string& environment) {
  const std::string given(application_name(variable(environment, "FILIBUSTER_APPLICATION")));
  if (!given.empty()) return given;
  std::error_code failed;
  const auto mounts = [&](pid_t of) {
    return fs::read_symlink(proc.path_of(of) + "/ns/mnt", failed);
  };
  // With other mounts a path may be that of another folder.
  if (mounts(pid) != mounts(proc.self()) || failed) return "";
  const fs::path folder = fs::read_symlink(proc.path_of(pid) + "/cwd", failed);
  if (failed || !folder.is_absolute() || !fs::exists(folder, failed)) return "";
  return application_of(folder.string());
}

std::string line_for(const std::string& service, const std::vector<ProgramElsewhere>& programs,
                     const std::string& application) {
  std::string out = "service '" + service + "', which somebody else starts, has not joined. " +
                    (programs.size() == 1 ? "A program that calls itself so belongs"
                                          : "Programs that call themselves so belong") +
                    " to another application: ";
  for (size_t i = 0; i < std::min(programs.size(), kTold); ++i) {
    const ProgramElsewhere& one = programs[i];
    out += (i == 0 ? "pid " : "; pid ") + std::to_string(one.pid) + " (" + one.executable +
           ") to " + (one.application.empty() ? "an unknown folder" : one.application);
  }
  if (programs.size() > kTold) out += "; and " + std::to_string(programs.size() - kTold) + " more";
  return out +
         (programs.size() == 1 ? ". If it is meant, start it"
                               : ". If one is meant, start that one") +
         " with FILIBUSTER_APPLICATION=" + application;
}

}  // namespace

std::vector<ProgramElsewhere> programs_elsewhere(const Proc& proc, const std::string& service,
                                                 const std::string& application) {
  std::vector<ProgramElsewhere> out;
  std::set<pid_t> named;
  const ProcessTable all = proc.processes();
  for (const auto& [pid, row] : all) {
    if (!is_of_this_user(proc, pid)) continue;
    const std::string environment = proc.environment(pid);
    // A session has started it, and it belongs to that one.
    if (!variable(environment, "FILIBUSTER_DAEMON").empty()) continue;
    if (name_of(proc, pid, environment) != service || !proc.has_mapped(pid, kLibrary)) continue;
    ProgramElsewhere found{pid, proc.executable(pid),
                           application_of_process(proc, pid, environment)};
    if (found.application == application) return {};
    named.insert(pid);
    out.push_back(std::move(found));
  }
  std::erase_if(out, [&](const ProgramElsewhere& one) {
    return named.contains(all.find(one.pid)->second.parent);
  });
  return out;
}

std::vector<std::string> who_may_be_meant(const Proc& proc, const Config& config,
                                          const std::vector<AgentRecord>& joined) {
  std::vector<std::string> out;
  if (config.application.empty()) return out;
  for (const std::string& service : services_by_hand(config)) {
    if (std::any_of(joined.begin(), joined.end(),
                    [&](const AgentRecord& agent) { return agent.service == service; }))
      continue;
    const auto programs = programs_elsewhere(proc, service, config.application);
    if (!programs.empty()) out.push_back(line_for(service, programs, config.application));
  }
  return out;
}

}  // namespace filibuster
