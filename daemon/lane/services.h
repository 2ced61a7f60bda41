// The services of one lane: started in the order of the configuration, each ready before the next,
// watched by pidfd, restarted by policy between executions, stopped at the end. Those that run already
// are attached to before them (daemon/attach/), and are left as they were.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/attach/attachment.h"
#include "daemon/coverage/collector.h"
#include "daemon/lane/snapshot.h"
#include "daemon/lane/virtual_services.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

struct ServiceEnd {
  std::string name;
  ExitStatus status;
  std::string output;    // last lines of its log
  bool by_hand = false;  // not our child: its status is not known
  bool attached = false;

  // "ended by SIGSEGV", "ended with exit status 1"
  std::string how() const {
    if (by_hand) return attached ? "(attached) ended" : "(started by hand) ended";
    return (status.signalled ? "" : "ended with ") + to_text(status);
  }
};

// What services that are attached need of their session.
struct AttachPlace {
  attach::Loader* loader = nullptr;
  std::function<void(const std::vector<TargetRow>&)> add_targets;  // addresses that were found
};

class Services {
 public:
  // `coverage` measures the services; null: coverage is not measured. `descriptors`: of the gRPC methods of
  // services without a process; null: there are none.
  Services(const Config& config, const SessionLane& lane, OwnedProcesses* owned, EventSink sink,
           coverage::Collector* coverage = nullptr, AttachPlace place = {},
           std::shared_ptr<const DescriptorSet> descriptors = nullptr);
  ~Services();  // stops what still runs

  // What cannot be interposed, one sentence each ("service 'users': /x/users is statically linked
  // ..."); services that are third party or ignored are left out.
  std::vector<std::string> preflight() const;

  // Error: names the service, what is wrong, and the last lines of its log.
  Result<void> start_all();

  // Services that ended since the last call. `suspects` (services on which a connection broke that
  // we did not break) are given a moment to be seen ending.
  std::vector<ServiceEnd> take_ended(const std::vector<std::string>& suspects);

  // Called before an execution: starts the services again that ended, and every service with
  // `restart: each`. Returns those that ended between two executions: the next execution is not to
  // blame for that. Error: also if a service ended that must not be restarted.
  Result<std::vector<ServiceEnd>> prepare_execution();

  void stop_all();

  // Why calls of this execution got no answer of a stub, each reason once.
  std::vector<std::string> unanswered_by_stubs() const;

  // Who answers for those without a process, in the place of their stubs. To be called before they start.
  void answer_by(std::shared_ptr<stubs::Answerer> answerer) { answerer_ = std::move(answerer); }
  // Those without a process; null: there are none.
  VirtualServices* virtual_services() const { return virtual_.get(); }

  // The services that are attached, with their processes as they were found.
  std::vector<attach::FoundService> attached() const;
  attach::OldConnections old_connections() const;
  // The service of the configuration that listens at that address of this machine; "": none does.
  std::string service_at(const std::string& address) const;
  // Error: a service is no longer attached although its processes run, so that nothing can be concluded
  // from what was seen of it.
  Result<void> check_attached();
  // Returns when the proxies have told all that attached processes did before this call (ask_to_look).
  void look_at_attached();

  // Begins a phase of measuring coverage. True: the services were started anew, so that what they
  // counted before is written and kept apart. False: coverage is not measured, or the phase is the same.
  Result<bool> begin_coverage(coverage::Phase phase);

 private:
  struct Running {
    const ServiceConfig* config;
    std::optional<Process> process;
    bool ended = false;  // seen to end, not yet started again
    // With `restart: each`: the process of the next execution, which waits where it would bind its port.
    std::unique_ptr<Snapshot> next = {};
    bool is_plain = false;                                // it is not started ahead (any more)
    std::unique_ptr<attach::Attachment> attachment = {};  // null: not attached (yet)
  };
  // services_attached.cc
  Result<void> attach_all();  // those that run already
  Result<Process> start_attached(Running* service);
  bool has_ended_attached(Running* service, std::chrono::milliseconds grace);
  void detach(Running* service);
  void detach_all();
  // Those without a command whose `ready` says what shows that they serve.
  Result<void> wait_for_others();
  Result<SpawnOptions> spawn_options(const Running& service);
  Result<void> start(Running* service);
  Result<Process> start_process(Running* service);
  // services_ahead.cc
  std::optional<Process> take_ahead(Running* service);
  void start_ahead(Running* service);
  std::string why_not_ahead(const Running& service) const;
  Result<void> wait_ready(Running* service);
  bool is_ready(const Running& service, const ReadyCheck& ready, uint16_t port) const;
  uint16_t ready_port(const ServiceConfig& service) const;
  Error start_error(const Running& service, const std::string& what,
                    std::string_view remedy = {}) const;
  void stop(Running* service, std::chrono::milliseconds grace);
  void end_its_orphans(const Running& service);
  std::chrono::milliseconds stop_grace() const;
  void tell(const Running& service, const std::string& state, const std::string& detail);

  const Config& config_;
  const SessionLane& lane_;
  OwnedProcesses* owned_;
  EventSink sink_;
  coverage::Collector* coverage_;
  AttachPlace place_;
  std::shared_ptr<const DescriptorSet> descriptors_;
  std::shared_ptr<stubs::Answerer> answerer_;  // null: stubs answer
  std::unique_ptr<VirtualServices> virtual_;   // null: there are none, or they do not serve
  std::vector<Running> services_;
  uint32_t started_ahead_ = 0;
};

}  // namespace filibuster
