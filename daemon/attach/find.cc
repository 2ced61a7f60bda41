#include "daemon/attach/find.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/protocol/lane_memory.h"
#include "core/text/glob.h"

namespace filibuster::attach {
namespace {

namespace fs = std::filesystem;
using By = AttachConfig::By;

constexpr const char kLibrary[] = "libfilibuster.so";

std::string base_name(const std::string& path) {
  return fs::path(path).filename().string();
}

// The names by which a person may know a program: its file's, what it was called with, and the script
// of an interpreter.
std::vector<std::string> names_of(const Proc& proc, pid_t pid) {
  std::vector<std::string> out;
  const std::vector<std::string> arguments = proc.arguments(pid);
  // The script is the first word that is no option; `-m` names a module, `-c` text.
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "-c" || arguments[i].empty()) break;
    if (arguments[i].starts_with("-") && arguments[i] != "-m") continue;
    if (arguments[i] == "-m" && ++i == arguments.size()) break;
    out.push_back(base_name(arguments[i]));
    break;
  }
  if (!arguments.empty()) out.push_back(base_name(arguments[0]));
  if (const std::string path = proc.executable(pid); !path.empty()) out.push_back(base_name(path));
  return out;
}

// This process, what started it and what it started: none of them is meant by a pattern.
std::set<pid_t> own_processes(const ProcessTable& all, pid_t self) {
  std::set<pid_t> out{self};
  for (auto at = all.find(self); at != all.end(); at = all.find(at->second.parent))
    if (!out.insert(at->second.parent).second && at->first != self) break;
  for (const auto& [pid, row] : all) {
    std::set<pid_t> seen;
    for (auto at = all.find(pid); at != all.end() && seen.insert(at->first).second;
         at = all.find(at->second.parent)) {
      if (at->second.parent == self) out.insert(pid);
    }
  }
  return out;
}

std::string cgroup_mount(const Proc& proc) {
  std::istringstream lines(proc.text("mounts"));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string device, place, type;
    if (fields >> device >> place >> type && type == "cgroup2") return place;
  }
  return "";
}

class Finder {
 public:
  Finder(const Proc& proc, const ProcessTable& all) : proc_(proc), all_(all) {}

  // The processes that the row names itself.
  Result<std::set<pid_t>> named(const AttachConfig& attach) const {
    switch (attach.by) {
      case By::kPid:
        return by_pid(static_cast<pid_t>(attach.number));
      case By::kPort:
        return by_port(static_cast<uint16_t>(attach.number));
      case By::kCgroup:
        return by_cgroup(attach.text);
      case By::kName:
        return by_name(attach.text);
      case By::kNothing:
        break;
    }
    return Error{"nothing says which process it is"};
  }

  // Why this process cannot be attached to; "": it can.
  std::string obstacle(pid_t pid) const {
    const std::string who = "pid " + std::to_string(pid);
    if (pid == 1) return who + " starts and ends all others; name the service's own process";
    if (proc_.executable(pid).empty())
      return who + " is a thread of the kernel, or belongs to another user (attach as root)";
    const std::string mine = proc_.name_space(proc_.self()), theirs = proc_.name_space(pid);
    if (!mine.empty() && !theirs.empty() && mine != theirs)
      return who + " lives in another network namespace (a container); run filibuster in that one";
    if (proc_.has_mapped(pid, kLibrary))
      return who + " has " + kLibrary +
             " already, and follows a session by itself; leave 'attach' out";
    return "";
  }

 private:
  Result<std::set<pid_t>> by_pid(pid_t pid) const {
    if (all_.contains(pid)) return std::set<pid_t>{pid};
    return Error{"there is no process with pid " + std::to_string(pid)};
  }

  Result<std::set<pid_t>> by_port(uint16_t port) const {
    const std::set<uint64_t> inodes = proc_.listening_inodes(port);
    if (inodes.empty()) return Error{"nobody listens at port " + std::to_string(port)};
    std::set<pid_t> out;
    bool all_allowed = true;
    for (const auto& [pid, row] : all_) {
      bool allowed = false;
      const std::set<uint64_t> held = proc_.sockets(pid, &allowed);
      all_allowed = all_allowed && allowed;
      if (std::any_of(held.begin(), held.end(),
                      [&](uint64_t inode) { return inodes.contains(inode); }))
        out.insert(pid);
    }
    if (out.size() > 1) out.erase(1);  // holds the sockets of services that it starts
    if (!out.empty()) return out;
    return Error{
        "no process holds the socket at port " + std::to_string(port) +
        (all_allowed
             ? ", as in another network namespace (a container)"
             : ": it belongs to another user, or CAP_SYS_PTRACE is missing here (attach as root)")};
  }

  Result<std::set<pid_t>> by_cgroup(const std::string& path) const {
    const std::string mount = cgroup_mount(proc_);
    if (mount.empty()) return Error{"no cgroup2 is mounted here (/proc/mounts)"};
    const std::string folder = path.starts_with(mount + "/") ? path : mount + path;
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) return Error{"there is no cgroup " + folder};
    std::set<pid_t> out;
    const auto add = [&](const fs::path& group) {
      std::ifstream file(group / "cgroup.procs");
      for (pid_t pid = 0; file >> pid;)
        if (all_.contains(pid)) out.insert(pid);
    };
    add(folder);
    for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
      if (entry.is_directory(failed)) add(entry.path());
    if (!out.empty()) return out;
    return Error{"no process is in the cgroup " + folder};
  }

  Result<std::set<pid_t>> by_name(const std::string& pattern) const {
    const std::set<pid_t> own = own_processes(all_, proc_.self());
    std::set<pid_t> out;
    for (const auto& [pid, row] : all_) {
      if (own.contains(pid) || proc_.executable(pid).empty()) continue;
      const std::vector<std::string> names = names_of(proc_, pid);
      if (std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return glob_match(pattern, name); }))
        out.insert(pid);
    }
    if (!out.empty()) return out;
    return Error{"no process has a name that '" + pattern +
                 "' matches (its file, or the script that it runs)"};
  }

  const Proc& proc_;
  const ProcessTable& all_;
};

// The service of each process: its own name, or that of the nearest named one that it descends from.
std::map<pid_t, size_t> owners(const ProcessTable& all, std::map<pid_t, size_t> named) {
  std::map<pid_t, size_t> out = named;
  for (const auto& [pid, row] : all) {
    std::set<pid_t> seen;
    for (auto at = all.find(pid); at != all.end() && seen.insert(at->first).second;
         at = all.find(at->second.parent)) {
      if (const auto owner = named.find(at->first); owner != named.end()) {
        out[pid] = owner->second;
        break;
      }
    }
  }
  return out;
}

// Where the service listens; with `ports` in its row, only there.
Result<std::vector<ListeningSocket>> where_it_listens(const ServiceConfig& config,
                                                      const FoundService& service,
                                                      Listening* listening) {
  std::vector<ListeningSocket> out;
  std::set<uint16_t> wanted, found;
  for (const auto& [name, port] : config.ports) wanted.insert(port);
  // A port that names the service is not its only one.
  if (config.attach.by == By::kPort &&
      wanted == std::set{static_cast<uint16_t>(config.attach.number)})
    wanted.clear();
  for (const FoundProcess& process : service.processes) {
    for (const ListeningSocket& socket : listening->of(process.pid)) {
      if (!wanted.empty() && !wanted.contains(socket.port)) continue;
      found.insert(socket.port);
      if (std::none_of(out.begin(), out.end(), [&](const ListeningSocket& other) {
            return other.address == socket.address && other.port == socket.port;
          }))
        out.push_back(socket);
    }
  }
  for (const uint16_t port : wanted) {
    if (!found.contains(port)) return Error{"does not listen at its port " + std::to_string(port)};
  }
  return out;
}

}  // namespace

std::vector<uint16_t> FoundService::ports() const {
  std::set<uint16_t> out;
  for (const ListeningSocket& socket : listens) out.insert(socket.port);
  return {out.begin(), out.end()};
}

Result<std::vector<FoundService>> find_services(const Config& config, const Proc& proc) {
  if (std::none_of(config.services.begin(), config.services.end(),
                   [](const ServiceConfig& service) { return service.runs_already(); }))
    return std::vector<FoundService>();  // all of /proc is not read for nothing
  const ProcessTable all = proc.processes();
  const Finder finder(proc, all);
  std::vector<const ServiceConfig*> services;
  std::map<pid_t, size_t> named;
  for (const ServiceConfig& service : config.services) {
    if (!service.runs_already()) continue;
    const std::string begin =
        "service '" + service.name + "' (attached by " + to_text(service.attach) + "): ";
    const Result<std::set<pid_t>> pids = finder.named(service.attach);
    if (!pids) return Error{begin + pids.error().message};
    for (const pid_t pid : pids.value()) {
      if (const std::string why = finder.obstacle(pid); !why.empty()) return Error{begin + why};
      const auto [owner, added] = named.emplace(pid, services.size());
      if (added) continue;
      return Error{begin + "pid " + std::to_string(pid) + " is service '" +
                   services[owner->second]->name + "', too; name the process of each"};
    }
    services.push_back(&service);
  }
  std::vector<FoundService> out(services.size());
  const std::map<pid_t, size_t> owned = owners(all, named);
  const std::set<pid_t> own = own_processes(all, proc.self());
  for (const bool direct : {true, false}) {
    for (const auto& [pid, number] : owned) {
      if (named.contains(pid) != direct || (!direct && own.contains(pid))) continue;
      // In a cgroup are exactly the processes of the service.
      if (!direct && services[number]->attach.by == By::kCgroup) continue;
      out[number].processes.push_back({pid, all.at(pid).start_time});
    }
  }
  Listening listening(proc);
  for (size_t i = 0; i < services.size(); ++i) {
    out[i].name = services[i]->name;
    out[i].program = program_name(proc, out[i].processes.front().pid);
    auto listens = where_it_listens(*services[i], out[i], &listening);
    if (!listens)
      return Error{"service '" + out[i].name + "' (attached by " + to_text(services[i]->attach) +
                   "): " + out[i].program + " " + listens.error().message};
    out[i].listens = std::move(listens).value();
  }
  return out;
}

std::string program_name(const Proc& proc, pid_t pid) {
  constexpr std::string_view kInterpreters[] = {"python", "node", "ruby", "perl", "php", "java"};
  const std::string file = base_name(proc.executable(pid));
  const bool interpreter =
      std::any_of(std::begin(kInterpreters), std::end(kInterpreters),
                  [&](std::string_view name) { return file.starts_with(name); });
  const std::vector<std::string> names = names_of(proc, pid);
  if (interpreter && names.size() > 2) return names.front();
  return file.empty() && !names.empty() ? names.front() : file;
}

std::vector<FoundProcess> with_descendants(const Proc& proc, pid_t pid) {
  const ProcessTable all = proc.processes();
  std::vector<FoundProcess> out;
  for (const auto& [one, number] : owners(all, {{pid, 0}})) {
    const auto row = all.find(one);
    if (row == all.end()) continue;
    const FoundProcess found{one, row->second.start_time};
    if (one == pid)
      out.insert(out.begin(), found);
    else
      out.push_back(found);
  }
  return out;
}

std::vector<ListeningSocket> listens_with_descendants(const Proc& proc, pid_t pid) {
  std::vector<ListeningSocket> out;
  Listening listening(proc);
  for (const auto& [one, number] : owners(proc.processes(), {{pid, 0}})) {
    for (ListeningSocket& socket : listening.of(one)) out.push_back(std::move(socket));
  }
  return out;
}

std::vector<TargetRow> target_rows(const FoundService& service) {
  std::vector<TargetRow> out;
  for (const ListeningSocket& socket : service.listens) {
    TargetRow row;
    row.service = service.name;
    row.flags = kTargetInApplication;
    row.port = socket.port;
    // Everywhere: the table's own word for that is a row without a host.
    const bool anywhere = socket.address == "0.0.0.0" || socket.address == "::";
    if (!anywhere) row.host = socket.address;
    if (std::none_of(out.begin(), out.end(), [&](const TargetRow& other) {
          return other.host == row.host && other.port == row.port;
        }))
      out.push_back(std::move(row));
  }
  return out;
}

AttachConfig row_to_keep(const AttachConfig& attach, const FoundService& service) {
  if (attach.by != By::kPid) return attach;
  const std::vector<uint16_t> ports = service.ports();
  if (!ports.empty()) return {By::kPort, ports.front(), ""};
  if (!service.program.empty()) return {By::kName, 0, service.program};
  return attach;
}

std::string text_to_keep(const std::string& config_text,
                         const std::vector<FoundService>& services) {
  auto json = nlohmann::ordered_json::parse(config_text, nullptr, false, true);
  const auto rows = json.is_object() ? json.find("services") : json.end();
  if (!json.is_object() || rows == json.end() || !rows->is_array()) return config_text;
  bool changed = false;
  for (auto& row : *rows) {
    if (!row.is_object() || !row.contains("attach") || !row["attach"].is_object() ||
        !row["attach"].contains("pid") || !row["attach"]["pid"].is_number_unsigned())
      continue;
    const auto service =
        std::find_if(services.begin(), services.end(), [&](const FoundService& found) {
          return row.contains("name") && row["name"] == found.name;
        });
    if (service == services.end()) continue;
    const AttachConfig kept =
        row_to_keep({By::kPid, row["attach"]["pid"].get<uint32_t>(), ""}, *service);
    if (kept.by == By::kPid) continue;
    if (kept.by == By::kPort)
      row["attach"] = {{"port", kept.number}};
    else
      row["attach"] = {{"name", kept.text}};
    changed = true;
  }
  if (!changed) return config_text;
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::attach
