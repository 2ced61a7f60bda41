// One lane: one replica of the application under test, with its ports, its agents' address and the
// environment that its processes get. Today there is lane 0 only; nothing outside this struct says
// so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/config/config.h"
#include "daemon/session/ports.h"
#include "daemon/session/process.h"

namespace filibuster {

// Progress of a session (docs/api.md): "type" and its members.
using EventSink = std::function<void(nlohmann::json)>;

struct SessionLane {
  uint32_t number = 0;
  std::string root;         // absolute: logs, processes.json
  std::string hub_address;  // FILIBUSTER_DAEMON
  std::string preload;      // absolute path of libfilibuster.so
  std::string api_url, token;
  uint16_t api_port = 0;
  PortMap ports;
  PortMap automatic_ports;              // those of them that are not fixed
  std::vector<std::string> port_notes;  // which are not those of before, and what that means
  int wake_fd = -1;                     // readable when the session is to stop

  std::string log_path(const std::string& name) const;  // ROOT/logs/NAME-LANE.log
};

enum class Interpose { kYes, kNo };

// The environment of a process of this lane: the daemon's own, then ports, `env` of the
// configuration (with ${port:NAME}), FILIBUSTER_* and LD_PRELOAD where it is interposed.
// `asan_runtime` goes first.
Result<std::vector<std::string>> lane_environment(const SessionLane& lane,
                                                  const std::string& service,
                                                  const std::map<std::string, std::string>& env,
                                                  Interpose interpose,
                                                  const std::string& asan_runtime);
// Sets or replaces one variable of an environment.
void set_variable(std::vector<std::string>* environment, const std::string& name,
                  const std::string& value);
std::string get_variable(const std::vector<std::string>& environment, const std::string& name);

// Ports substituted in every argument.
Result<std::vector<std::string>> lane_command(const SessionLane& lane, const Command& command);
// `directory` relative to the configuration's.
std::string lane_directory(const Config& config, const std::string& directory);

// The addresses with a service name that the configuration knows, the daemon's own API included.
// Error: the host of a service is not known.
Result<std::vector<TargetRow>> lane_targets(const Config& config, const SessionLane& lane);

// Processes started by this daemon and not seen to end, by pid and start time, in
// ROOT/processes.json: a later daemon ends exactly those if this one is killed.
class OwnedProcesses {
 public:
  explicit OwnedProcesses(std::string root) : path_(std::move(root) + "/processes.json") {}
  void add(const std::string& name, const Process& process);
  void remove(pid_t pid);
  // Without a write, for what ends in every execution: its pid and start time are nobody's any more,
  // and the next change writes.
  void forget(pid_t pid);
  // Ends what an earlier daemon left behind. Returns "users (pid 123)" for each that was ended.
  std::vector<std::string> end_leftovers();

 private:
  void write();
  struct Row {
    std::string name;
    pid_t pid;
    uint64_t start_time;
  };
  std::string path_;
  std::vector<Row> rows_;
  size_t written_ = 0;  // bytes of the file; above a page: not known, or too long to write in place
};

// Makes a folder and those above it that are missing, each 0700; one that is there becomes so.
Result<void> make_private_folder(const std::string& path);
// What an earlier version, or a program that wrote into a folder of ours, left readable for others
// under ROOT becomes 0600, and folders 0700. ROOT itself keeps what its user gave it, unless it is
// the `.filibuster` that we made.
void make_root_private(const std::string& root);
// Writes a file in one step: a reader sees the old text or the new one. 0600.
Result<void> write_file(const std::string& path, const std::string& text);
Result<std::string> read_file(const std::string& path);
// JSON text in which bytes that are not UTF-8 (a program's output) are replaced.
std::string dump_json(const nlohmann::json& json, int indent = -1);

}  // namespace filibuster
