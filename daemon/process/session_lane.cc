#include "daemon/process/session_lane.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/program/entry.h"
#include "core/protocol/draws.h"
#include "core/protocol/lane_memory.h"
#include "core/protocol/shown_clock.h"
#include "daemon/base/fail_point.h"
#include "daemon/base/process_table.h"
#include "daemon/process/orphans.h"

extern char** environ;

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLeftoverGrace{2000};  // between SIGTERM and SIGKILL

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace

std::string SessionLane::log_path(const std::string& name) const {
  std::string safe = name;
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
      c = '_';
  }
  return root + "/logs/" + safe + "-" + std::to_string(number) +
         (log_mark.empty() ? "" : "." + log_mark) + ".log";
}

void set_variable(std::vector<std::string>* environment, const std::string& name,
                  const std::string& value) {
  const std::string prefix = name + "=";
  for (std::string& entry : *environment) {
    if (entry.starts_with(prefix)) {
      entry = prefix + value;
      return;
    }
  }
  environment->push_back(prefix + value);
}

std::string get_variable(const std::vector<std::string>& environment, const std::string& name) {
  const std::string prefix = name + "=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return "";
}

std::string preload_of(const std::string& library, const std::string& asan_runtime,
                       std::string_view given) {
  std::string before = asan_runtime, after;
  const auto add = [](std::string* list, std::string_view entry) {
    if (!list->empty()) *list += ':';
    *list += entry;
  };
  // ld.so(8): entries are separated by blanks or colons.
  constexpr std::string_view kSeparators = " \t\n:";
  for (size_t at = given.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    const size_t end = std::min(given.find_first_of(kSeparators, at), given.size());
    const std::string_view entry = given.substr(at, end - at);
    const std::string_view name = entry.substr(entry.rfind('/') + 1);
    const bool is_asan = name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
    if (entry != asan_runtime) add(is_asan ? &before : &after, entry);
    at = given.find_first_not_of(kSeparators, end);
  }
  add(&before, library);
  if (!after.empty()) add(&before, after);
  return before;
}

std::string hub_folder(const SessionLane& lane) {
  const std::string socket = lane.hub_address.substr(lane.hub_address.find(':') + 1);
  return std::filesystem::path(socket).parent_path().string();
}

std::string lane_token(const std::string& token, uint32_t lane) {
  return lane == 0 ? token : token + "-" + std::to_string(lane);
}

std::optional<uint32_t> lane_of_token(std::string_view given, std::string_view token) {
  if (token.empty() || given.size() < token.size()) return std::nullopt;
  unsigned char differs = 0;
  for (size_t i = 0; i < token.size(); ++i)
    differs |= static_cast<unsigned char>(given[i] ^ token[i]);
  if (differs != 0) return std::nullopt;
  std::string_view rest = given.substr(token.size());
  if (rest.empty()) return 0;
  if (!rest.starts_with('-')) return std::nullopt;
  rest.remove_prefix(1);
  uint32_t lane = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), lane);
  if (error != std::errc() || end != rest.data() + rest.size() || lane == 0) return std::nullopt;
  return lane;
}

Result<std::string> substitute(const SessionLane& lane, std::string_view text) {
  constexpr std::string_view kLane = "${lane}";
  std::string out(text);
  for (size_t at = out.find(kLane); at != std::string::npos; at = out.find(kLane, at))
    out.replace(at, kLane.size(), std::to_string(lane.number));
  return substitute_ports(out, lane.ports);
}

Result<std::vector<std::string>> lane_environment(const SessionLane& lane,
                                                  const std::string& service,
                                                  const std::map<std::string, std::string>& env,
                                                  Interpose interpose, const PreloadNeeds& needs) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    // If this daemon runs inside another session, that session's variables are left out.
    if (!std::string_view(*entry).starts_with("FILIBUSTER_")) out.emplace_back(*entry);
  }
  for (const std::string& port : port_environment(lane.ports)) {
    const size_t equals = port.find('=');
    set_variable(&out, port.substr(0, equals), port.substr(equals + 1));
  }
  for (const auto& [name, text] : env) {
    auto value = substitute(lane, text);
    if (!value) return Error{"env " + name + " of '" + service + "': " + value.error().message};
    set_variable(&out, name, value.value());
  }
  if (lane.trust) lane.trust->add_to(&out);
  if (!lane.owner_mark.empty()) set_variable(&out, kOwnerVariable, lane.owner_mark + ":" + service);
  if (interpose == Interpose::kNo) return out;
  std::string library = lane.preload;
  if (needs.only_for_glibc && library.starts_with('/') && library.find('$') == std::string::npos)
    library.insert(0, kOnlyForGlibc);
  set_variable(&out, "LD_PRELOAD",
               preload_of(library, needs.asan_runtime, get_variable(out, "LD_PRELOAD")));
  set_variable(&out, "FILIBUSTER_SERVICE", service);
  set_variable(&out, "FILIBUSTER_DAEMON", lane.hub_address);
  set_variable(&out, "FILIBUSTER_LANE", std::to_string(lane.number));
  if (lane.follows_draws) set_variable(&out, kDrawsVariable, "1");
  if (lane.is_replay) set_variable(&out, kReplayVariable, "1");
  if (!lane.has_hosts) return out;
  set_variable(&out, "FILIBUSTER_HOSTS", "1");
  // gRPC's own resolver (c-ares) does not ask libc, which it does where this says so.
  constexpr char kResolver[] = "GRPC_DNS_RESOLVER";
  if (get_variable(out, kResolver).empty()) set_variable(&out, kResolver, "native");
  return out;
}

Result<std::vector<std::string>> lane_command(const SessionLane& lane, const Command& command) {
  std::vector<std::string> out;
  for (const std::string& argument : command.argv) {
    auto text = substitute(lane, argument);
    if (!text) return text.error();
    out.push_back(std::move(text).value());
  }
  return out;
}

std::string lane_directory(const Config& config, const std::string& directory) {
  if (directory.empty()) return config.directory;
  return (std::filesystem::path(config.directory) / directory).lexically_normal().string();
}

// The numeric addresses of a host; none: it is not known.
std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::vector<std::string> out;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
        0)
      out.emplace_back(text);
  }
  freeaddrinfo(found);
  return out;
}

Result<std::vector<TargetRow>> lane_targets(const Config& config, const SessionLane& lane) {
  std::vector<TargetRow> rows;
  if (lane.api_port != 0) {
    TargetRow api;
    api.host = "127.0.0.1";
    api.port = lane.api_port;
    api.service = "filibuster";
    api.flags = kTargetNever;
    rows.push_back(api);
  }
  for (const ServiceConfig& service : config.services) {
    TargetRow row;
    row.service = service.name;
    row.flags = service.ignored       ? kTargetIgnored
                : service.third_party ? kTargetThirdParty
                                      : kTargetInApplication;
    const bool redis = service.protocol == Protocol::kRedis;
    if (redis) row.flags |= kTargetRedis;
    // A third party with a host name is recognised by that name, since its addresses may change. A
    // command to Redis names no host, so a Redis is recognised by its addresses.
    std::vector<std::string> hosts{service.host};
    if (!service.host.empty() && (!service.third_party || redis)) {
      hosts = addresses_of(service.host);
      if (hosts.empty() && !service.ignored) {
        return Error{"service '" + service.name + "': its host '" + service.host +
                     "' has no address here; write the address, or enter the name in /etc/hosts"};
      }
    }
    for (const std::string& host : hosts) {
      row.host = host;
      for (const auto& [name, number] : service.ports) {
        const auto found = lane.ports.find(name);
        row.port = found == lane.ports.end() ? number : found->second;
        // A service with a host and without a port has that of plain HTTP.
        if (!service.host.empty() && row.port == 0) row.port = 80;
        if (row.port != 0) rows.push_back(row);
      }
      if (service.ports.empty() && !service.host.empty()) {
        row.port = 80;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

std::vector<HostAddress> lane_hosts(const Config& config, const SessionLane& lane) {
  std::vector<HostAddress> rows;
  for (const ServiceConfig& service : config.services) {
    for (const HostConfig& host : service.hosts) {
      HostAddress row{.name = host.name, .port = host.port, .real_port = 0};
      // What is no IPv4 address names this machine (daemon/config/hosts.cc).
      ::inet_pton(AF_INET, service.host.c_str(), row.address.data());
      const auto found = lane.ports.find(host.leads_to);
      row.real_port = found == lane.ports.end() ? service.ports.at(host.leads_to) : found->second;
      rows.push_back(row);
    }
  }
  return rows;
}

// The init of a container gets the orphans of whatever runs there.
static bool has_only_our_orphans() {
  return getpid() != 1;
}

std::vector<std::string> end_orphans(const SessionLane& lane, const std::string& name) {
  const auto find = [&] {
    std::vector<MarkedProcess> found = orphans();
    std::erase_if(found, [&](const MarkedProcess& orphan) {
      if (orphan.mark.empty()) return lane.number != 0 || !name.empty() || !has_only_our_orphans();
      return orphan.mark != lane.owner_mark || (!name.empty() && orphan.started_by != name);
    });
    return found;
  };
  std::vector<std::string> out;
  for (const MarkedProcess& orphan : end_processes(find, kLeftoverGrace).alive)
    out.push_back(to_text(orphan));
  return out;
}

void OwnedProcesses::set_mark(const std::string& mark) {
  mark_ = mark;
  std::erase_if(rows_, [](const Row& row) { return row.is_orphan; });
  write();
}

void OwnedProcesses::keep_orphans() {
  std::vector<Row> rows = rows_;
  std::erase_if(rows, [](const Row& row) { return row.is_orphan; });
  for (const MarkedProcess& orphan : orphans()) {
    const bool is_ours =
        orphan.mark.empty() ? lane_ == 0 && has_only_our_orphans() : orphan.mark == mark_;
    if (is_ours)
      rows.push_back({orphan.program, orphan.pid, orphan.start_time, /*is_orphan=*/true});
  }
  const auto same = [](const Row& a, const Row& b) {
    return a.pid == b.pid && a.start_time == b.start_time;
  };
  const bool changed = !std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(), same);
  rows_ = std::move(rows);
  if (changed) write();
}

void OwnedProcesses::add(const std::string& name, pid_t pid, uint64_t start_time) {
  rows_.push_back({name, pid, start_time});
  write();
}

void OwnedProcesses::remove(pid_t pid) {
  forget(pid);
  write();
}

void OwnedProcesses::forget(pid_t pid) {
  std::erase_if(rows_, [&](const Row& row) { return row.pid == pid; });
}

// Best effort: without the file, a killed daemon's processes must be ended by hand. This happens in
// every execution, so the file is overwritten in place, as long as it fits into a page (a kill does not
// interrupt such a write). Blanks overwrite the rest of a longer text.
void OwnedProcesses::write() {
  constexpr size_t kPage = 4096;
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    rows.push_back({{"name", row.name}, {"pid", row.pid}, {"start_time", row.start_time}});
  }
  static const std::string boot = boot_id();
  std::string text =
      dump_json({{"version", 1}, {"boot", boot}, {"mark", mark_}, {"processes", rows}});
  const size_t size = text.size();
  if (size > kPage || written_ > kPage) {
    written_ = write_file(path_, text).ok() ? size : kPage + 1;
    return;
  }
  if (size < written_) text.resize(written_, ' ');
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    written_ = text.size();
  close(fd);
}

OwnedProcesses::OwnedProcesses(const std::string& root, uint32_t lane)
    : root_(root),
      path_(root + "/processes" + (lane == 0 ? "" : "-" + std::to_string(lane)) + ".json"),
      lane_(lane) {}

std::vector<std::string> OwnedProcesses::end_leftovers() {
  if (lane_ != 0) return {};
  Leftovers left;
  read_leftovers(path_, &left);
  std::error_code failed;
  std::vector<fs::path> further;
  for (const auto& entry : fs::directory_iterator(root_, failed)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("processes-") && name.ends_with(".json")) further.push_back(entry.path());
  }
  for (const fs::path& path : further) read_leftovers(path, &left);

  const auto find = [&left] {
    std::vector<MarkedProcess> found = processes_marked(left.marks);
    for (const Row& row : left.rows) {
      const auto stat = process_stat(row.pid);
      if (!stat || stat->start_time != row.start_time || stat->has_ended()) continue;
      const auto same = [&](const MarkedProcess& process) { return process.pid == row.pid; };
      if (std::any_of(found.begin(), found.end(), same)) continue;
      MarkedProcess process;
      process.pid = row.pid;
      process.start_time = row.start_time;
      process.started_by = row.name;
      process.leads_group = stat->group == row.pid;
      found.push_back(std::move(process));
    }
    return found;
  };
  std::vector<std::string> ended;
  for (const MarkedProcess& process : end_processes(find, kLeftoverGrace).all)
    ended.push_back(to_text(process));

  // The files go when all has ended: a daemon that is killed meanwhile leaves the rest to the next one.
  rows_.clear();
  mark_.clear();
  if (fs::exists(path_, failed)) {
    written_ = fs::file_size(path_, failed);
    write();
  }
  for (const fs::path& path : further) fs::remove(path, failed);
  return ended;
}

void OwnedProcesses::read_leftovers(const std::string& path, Leftovers* out) {
  const auto text = read_file(path);
  if (!text) return;
  const auto json = nlohmann::json::parse(text.value(), nullptr, false);
  if (!json.is_object() || json.value("boot", "") != boot_id()) return;
  if (const std::string mark = json.value("mark", ""); !mark.empty()) out->marks.insert(mark);
  for (const auto& row : json.value("processes", nlohmann::json::array())) {
    if (!row.is_object()) continue;
    const auto pid = row.value("pid", 0);
    const auto start_time = row.value("start_time", uint64_t{0});
    if (pid > 1 && start_time != 0) out->rows.push_back({row.value("name", "?"), pid, start_time});
  }
}

Result<void> make_private_folder(const std::string& path) {
  const fs::path folder = fs::path(path).lexically_normal();
  for (fs::path at; const fs::path& part : folder) {
    at /= part;
    if (part.empty() || mkdir(at.c_str(), 0700) == 0 || errno == EEXIST) continue;
    if (std::error_code ignored; fs::is_directory(at, ignored))
      continue;  // on a read-only file system
    return Error{"cannot make " + path + ": " + strerror(errno)};
  }
  if (chmod(folder.c_str(), 0700) != 0)
    return Error{"cannot make " + path + " private: " + strerror(errno)};
  return {};
}

void make_root_private(const std::string& root) {
  constexpr const char* kOurs[] = {
      "agents",      "counterexamples", "coverage",      "lint",
      "logs",        "sessions",        "coverage.json", "lint.json",
      "report.json", "ports.json",      "junit.xml",     "report.sarif",
      "summary.md",  "daemon.log",      "daemon.lock",   "processes.json"};
  const auto close_to_others = [](const fs::path& path) {
    std::error_code failed;
    const fs::file_status status = fs::symlink_status(path, failed);
    if (failed || (!fs::is_directory(status) && !fs::is_regular_file(status))) return;
    constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
    if ((status.permissions() & kOthers) == fs::perms::none) return;
    fs::permissions(path, kOthers, fs::perm_options::remove, failed);
  };
  if (fs::path(root).filename() == ".filibuster") close_to_others(root);
  for (const char* name : kOurs) {
    const fs::path path = fs::path(root) / name;
    close_to_others(path);
    std::error_code failed;
    for (auto at = fs::recursive_directory_iterator(path, failed);
         !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
      close_to_others(at->path());
    }
  }
}

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  // Others may be able to write to the folder: a link that another user put there is not followed.
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  unlink(temporary.c_str());
  const int fd = open(temporary.c_str(), kNew, 0600);
  bool good = fd >= 0;
  for (size_t done = 0; good && done < text.size();) {
    const ssize_t size = ::write(fd, text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    good = size > 0;
    done += good ? static_cast<size_t>(size) : 0;
  }
  if (fd >= 0) good = close(fd) == 0 && good;
  fail_point("written");
  if (!good || rename(temporary.c_str(), path.c_str()) != 0) {
    return Error{"cannot write " + path + ": " + strerror(errno)};
  }
  return {};
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{"cannot read " + path + ": " + strerror(errno)};
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::string dump_json(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace filibuster
