// Statement coverage of the services of one session (`filibuster run --coverage`): how they are
// started so that it is measured, where their data goes, and what it says at the end. The services
// themselves are not changed.
//
// Two sets of data are told apart by when a process was started: before the executions with faults,
// or after. So the services are started anew between the two (Services::begin_coverage); each
// writes what it counted when it ends.
//
//   ROOT/coverage/SERVICE/{without-faults,under-faults}/{python,node,java,native}/
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/coverage/programs.h"
#include "daemon/coverage/report.h"
#include "daemon/process/session_lane.h"

namespace filibuster::coverage {

enum class Phase { kWithoutFaults, kUnderFaults };

struct CollectorOptions {
  std::string helpers;   // folder of daemon/coverage/helpers as built
  std::string key;       // names what is explored: an interrupted session with the same key goes on
  bool restart = false;  // forget an interrupted session
};

class Collector {
 public:
  // The arguments outlive the collector. Error: a tool is missing (with the package that has it), or
  // the folder of the data cannot be made.
  static Result<std::unique_ptr<Collector>> create(const Config& config, const SessionLane& lane,
                                                   CollectorOptions options);

  Phase phase() const { return phase_; }
  // The processes that are started from now on belong to this phase.
  Result<void> begin(Phase phase);
  // Switches coverage on in the environment of a service that is about to start.
  void prepare(const std::string& service, std::vector<std::string>* environment);
  // A process of the service ended without writing what it counted.
  void note_lost(const std::string& service, const std::string& how);
  // A process of the service exited by itself. Its data is lost if none was written since prepare() (_exit).
  void note_exited(const std::string& service, const std::string& how);

  // True: data of an interrupted session was there.
  bool continued() const { return continued_; }
  // To be called when every process has ended. Takes seconds.
  Report collect() const;
  // What was explored is complete: the next run begins anew.
  void finish() const;

 private:
  struct Service {
    const ServiceConfig* config;
    std::string directory;
    std::string unmeasured;  // why; empty: it is measured
    ServiceProgram program;
    std::map<std::string, int> lost;  // how -> processes
    std::filesystem::file_time_type prepared{};
  };
  Collector(const Config& config, const SessionLane& lane, CollectorOptions options);
  Result<void> find_services();
  Result<void> need_tools();
  std::string missing_tool(const Service& service, Language language) const;
  Result<void> take_java_agent();
  std::vector<std::string> jacoco(const std::vector<std::string>& arguments) const;
  std::string folder(const Service& service, Phase phase) const;
  Result<ToolAnswer> read(const Service& service, Phase phase, Language language) const;
  Result<ToolAnswer> read_native(const std::string& data) const;
  Result<ToolAnswer> run_helper(std::vector<std::string> argv, const std::string& output) const;
  ServiceReport collect(const Service& service) const;

  const Config& config_;
  const SessionLane& lane_;
  CollectorOptions options_;
  std::string root_;  // ROOT/coverage
  std::string path_variable_;
  Phase phase_ = Phase::kWithoutFaults;
  bool continued_ = false;
  std::vector<Service> services_;
};

}  // namespace filibuster::coverage
