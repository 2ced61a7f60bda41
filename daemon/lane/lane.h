// A lane: one replica of the application under test, with its ports, the address of its agents, its
// services and the programs that this daemon started for it. A session has lane 0, and with -j further ones
// (lane_set.h).
//
//   auto lane = Lane::make({config, root, ...}, sink);
//   lane->add_services(nullptr);
//   lane->start_services();
//   ... executions ...
//   lane->stop_services();
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/coverage/collector.h"
#include "daemon/lane/lane_ports.h"
#include "daemon/lane/services.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

// The folder of the agents' socket: ROOT/agents, of further lanes ROOT/agents-N. If that path is too long for a socket or has blanks
// or colons, it is a temporary folder, removed at the end.
class HubFolder {
 public:
  HubFolder() = default;
  HubFolder(const HubFolder&) = delete;
  HubFolder& operator=(const HubFolder&) = delete;
  ~HubFolder();
  Result<void> make(const std::string& root, uint32_t lane);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool temporary_ = false;
};

// The library by a path that LD_PRELOAD takes: blanks and colons separate its entries. If its own path has some, it is a link to
// the library's folder, which programs of other users find, too. It is removed at the end.
class LibraryPath {
 public:
  LibraryPath() = default;
  LibraryPath(const LibraryPath&) = delete;
  LibraryPath& operator=(const LibraryPath&) = delete;
  ~LibraryPath();
  // `library`: absolute.
  Result<std::string> make(const std::string& library);

 private:
  std::string folder_;  // of the link; empty: there is none
};

class Lane {
 public:
  struct Options {
    const Config& config;
    std::string root;  // absolute
    std::string api_url, token;
    uint16_t api_port = 0;
    std::string preload;  // path of libfilibuster.so
    int wake_fd = -1;     // readable when the session is to stop
    PortMap ports;  // former automatic ports that take precedence over those of the last session
    std::string meaning_of_moved_port;  // ends the note about an automatic port that has changed
    attach::Loader* loader = nullptr;   // for services that are attached
    uint32_t number = 0;
    bool watches = false;                                        // SessionLane
    std::shared_ptr<const DescriptorSet> descriptors = nullptr;  // null: there are none
  };
  // Takes the ports and starts the hub to which agents connect; starts no service. Warnings go to
  // `sink`. Error: says what is missing or in use.
  static Result<std::unique_ptr<Lane>> make(const Options& options, EventSink sink);
  ~Lane();  // stops what still runs

  // The processes that it starts from now on are shown the time of day that hub().show_time() says.
  void show_time_of_recording() { place_.is_replay = true; }
  // Their random numbers are recorded from their start on, or are those that hub().show_draws() says.
  void follow_draws() { place_.follows_draws = true; }
  // Its logs have this in their names, and overwrite none of a lane that was there before. To be called before its services start.
  void mark_logs(const std::string& mark) { place_.log_mark = mark; }

  // Adds the services; `coverage` measures them, null: coverage is not measured. To be called once.
  void add_services(coverage::Collector* coverage);
  Result<void> start_services();
  // Keeps the automatic ports for the next session.
  void keep_ports(LanePorts::Keep which);
  void stop_services();

  const SessionLane& place() const { return place_; }
  bool ports_moved() const { return !place_.port_notes.empty(); }
  AgentHub& hub() const { return *hub_; }
  std::shared_ptr<AgentHub> shared_hub() const { return hub_; }
  Services& services() { return *services_; }
  OwnedProcesses& owned() { return owned_; }
  // Programs of the services that cannot be interposed, a line each.
  const std::vector<std::string>& obstacles() const { return obstacles_; }

 private:
  Lane(const Options& options, EventSink sink);
  Result<void> start_hub(const Options& options);
  void end_orphans();

  const Config& config_;
  EventSink sink_;
  attach::Loader* loader_;
  std::shared_ptr<const DescriptorSet> descriptors_;
  SessionLane place_;
  OwnedProcesses owned_;
  HubFolder folder_;
  LibraryPath library_;
  LanePorts ports_;
  std::shared_ptr<AgentHub> hub_;
  std::unique_ptr<Services> services_;
  std::vector<std::string> obstacles_;
};

}  // namespace filibuster
