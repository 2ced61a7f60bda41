// One lane: one replica of the application under test, with its ports, its agents' address and the
// environment that its processes get.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/config/config.h"
#include "daemon/process/orphans.h"
#include "daemon/process/ports.h"
#include "daemon/process/preflight.h"
#include "daemon/process/process.h"
#include "daemon/process/trust.h"
#include "daemon/stubs/certificate.h"

namespace filibuster {

// Progress of a session (docs/api.md): "type" and its members.
using EventSink = std::function<void(nlohmann::json)>;

struct SessionLane {
  uint32_t number = 0;
  std::string root;         // absolute: logs, processes.json
  std::string hub_address;  // FILIBUSTER_DAEMON
  std::string preload;      // absolute path of libfilibuster.so
  std::string owner_mark;   // of what this lane starts (orphans.h); "": nothing is marked
  std::string api_url, token;
  uint16_t api_port = 0;
  PortMap ports;
  PortMap automatic_ports;              // the ports among them that are not fixed
  std::vector<std::string> port_notes;  // a line for each automatic port that has changed
  int wake_fd = -1;                     // readable when the session is to stop
  bool has_hosts = false;               // names of `hosts` lead to its services
  bool watches = false;                 // nothing but that: no fault is placed
  bool follows_draws = false;           // random numbers of its processes count from their start on
  bool is_replay = false;               // its processes are shown the time of a recording
  std::string log_mark = {};            // of its logs, beside those of what ran before; "": none
  std::shared_ptr<const stubs::Certificate> certificate;  // of its stubs; null: none serves TLS
  std::optional<Trust> trust;  // its processes trust that certificate; nullopt: there is none

  std::string log_path(
      const std::string& name) const;  // ROOT/logs/NAME-LANE.log, or NAME-LANE.MARK.log
};

// The folder of the agents' socket, whose path is short enough for other sockets, too.
std::string hub_folder(const SessionLane& lane);

enum class Interpose { kYes, kNo };

// The environment of a process of this lane: the daemon's own, then ports, `env` of the
// configuration (with ${port:NAME}), the lane's mark, and FILIBUSTER_* and LD_PRELOAD where it is interposed.
// The runtime of the address sanitizer that `needs` names comes first in LD_PRELOAD (preload_of).
Result<std::vector<std::string>> lane_environment(const SessionLane& lane,
                                                  const std::string& service,
                                                  const std::map<std::string, std::string>& env,
                                                  Interpose interpose, const PreloadNeeds& needs);
// The value of LD_PRELOAD with our library: it stands before what is `given`, and only runtimes of the address sanitizer, which
// start in the first place only, stand before it.
std::string preload_of(const std::string& library, const std::string& asan_runtime,
                       std::string_view given);
// Sets or replaces one variable of an environment.
void set_variable(std::vector<std::string>* environment, const std::string& name,
                  const std::string& value);
std::string get_variable(const std::vector<std::string>& environment, const std::string& name);

// The token with which the tests of a lane ask the daemon; lane_of_token() is the way back. nullopt: it is
// no token of any lane. Takes the same time wherever the texts differ.
std::string lane_token(const std::string& token, uint32_t lane);
std::optional<uint32_t> lane_of_token(std::string_view given, std::string_view token);

// `text` with ${lane} and ${port:NAME} substituted.
Result<std::string> substitute(const SessionLane& lane, std::string_view text);
// The arguments of the command, substituted.
Result<std::vector<std::string>> lane_command(const SessionLane& lane, const Command& command);
// The path of `directory`, which is relative to the directory of the configuration.
std::string lane_directory(const Config& config, const std::string& directory);

// The addresses to which the configuration gives a service name, and the daemon's own API.
// Error: the host of a service has no address.
Result<std::vector<TargetRow>> lane_targets(const Config& config, const SessionLane& lane);

// Where the names of `hosts` lead in this lane.
std::vector<HostAddress> lane_hosts(const Config& config, const SessionLane& lane);

// Ends what the lane started and what left its process groups (orphans.h): of all the lane if `name` is "", else of
// that service alone. Returns what could not be ended. Orphans without a mark are those of lane 0, which ends last.
std::vector<std::string> end_orphans(const SessionLane& lane, const std::string& name = "");

// Processes started by this daemon and not seen to end, by pid and start time, and the mark of whatever
// they start, in ROOT/processes.json (of further lanes ROOT/processes-N.json): a later daemon ends exactly
// those if this one is killed.
class OwnedProcesses {
 public:
  explicit OwnedProcesses(const std::string& root, uint32_t lane = 0);
  // Before the first process is started: what has this mark is ended, too. "": the lane has ended all.
  void set_mark(const std::string& mark);
  void add(const std::string& name, const Process& process) {
    add(name, process.pid(), process.start_time());
  }
  void add(const std::string& name, pid_t pid, uint64_t start_time);
  void remove(pid_t pid);
  // As remove(), but without a write, for the test process of every execution. Its row may stay in the
  // file until the next write: no other process has that pid and start time.
  void forget(pid_t pid);
  // Writes down the orphans that run now: those that have this lane's mark, and in lane 0 those that have none, since
  // nothing but these rows would tell the next daemon of them.
  void keep_orphans();
  // Ends what an earlier daemon left behind; lane 0 does it for all lanes. Returns "users (pid 123)" for
  // each that was ended.
  std::vector<std::string> end_leftovers();

 private:
  void write();
  struct Row {
    std::string name;
    pid_t pid;
    uint64_t start_time;
    bool is_orphan = false;
  };
  struct Leftovers {
    std::vector<Row> rows;
    std::set<std::string> marks;
  };
  static void read_leftovers(const std::string& path, Leftovers* out);
  std::string root_, path_;
  uint32_t lane_ = 0;
  std::string mark_;
  std::vector<Row> rows_;
  size_t written_ = 0;  // bytes of the file; above a page: not known, or too long to write in place
};

// Makes a folder and its missing parents, each 0700. A folder that exists becomes 0700, too.
Result<void> make_private_folder(const std::string& path);
// Takes the permissions of group and others from our files and folders under ROOT. An earlier version,
// or a program that wrote into one of the folders, may have left them readable. ROOT itself keeps its
// mode, unless its name is `.filibuster`.
void make_root_private(const std::string& root);
// Writes a file in one step: a reader sees the old text or the new one. 0600.
Result<void> write_file(const std::string& path, const std::string& text);
Result<std::string> read_file(const std::string& path);
// JSON text in which bytes that are not UTF-8 (a program's output) are replaced.
std::string dump_json(const nlohmann::json& json, int indent = -1);

}  // namespace filibuster
