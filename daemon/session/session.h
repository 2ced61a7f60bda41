// One session: a configuration and its tests, explored one after the other on a thread of its own,
// against services that are started once per lane. What happens is told as numbered events.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/config/config.h"
#include "daemon/coverage/report.h"
#include "daemon/lint/lint.h"
#include "daemon/process/ports.h"
#include "daemon/report/finding.h"
#include "daemon/report/representation.h"
#include "daemon/session/explorer.h"
#include "daemon/session/questions.h"
#include "daemon/session/service_descriptors.h"

namespace filibuster {

struct SessionRequest {
  enum class Mode { kRun, kReplay, kTrace, kLint } mode = Mode::kRun;
  Config config;
  std::string config_text;
  std::vector<TestConfig> tests;  // tests to explore, and suites; the session puts their tests in place
  std::vector<std::string> only;  // names of the tests to explore, if there are suites; empty: all
  bool restart = false;
  bool coverage = false;  // measure which statements of the services are reached; kRun
  bool allow_untested = false;  // RPCs that could not be tested leave the exit code as it is; kRun
  Representation representation = Representation::kCompact;  // of what `trace` prints
  pid_t client_pid = 0;  // 0: nobody to watch
  uint64_t client_start_time = 0;
  std::vector<InjectedFault> faults;  // kReplay
  lint::Options lint;                 // kLint
  std::shared_ptr<const DescriptorSet> descriptors;  // null: the configuration names none
  std::string learnt_descriptors;  // kReplay: what services said when it was explored
  PortMap ports;                   // kReplay: the automatic ports with which it was explored
};

struct DaemonContext {
  std::string root;  // absolute
  std::string api_url, token;
  uint16_t api_port = 0;
  std::string preload;  // path of libfilibuster.so; the helpers of coverage are in filibuster/ beside it
  std::function<void()> on_client_gone;
};

class Session {
 public:
  Session(SessionRequest request, DaemonContext context);
  ~Session();  // stops and waits

  const std::string& id() const { return id_; }
  bool running() const { return !done_.load(); }
  // Gives up the running execution and ends. The same execution runs again when the session resumes.
  void stop();

  struct News {
    std::vector<nlohmann::json> events;
    uint64_t next = 0;
    bool done = false;
    int exit_code = 0;
  };
  // Events with n >= after; waits at most `wait` for the first, and a little for more.
  News news(uint64_t after, std::chrono::milliseconds wait);

  std::string report() const;  // text of report.json (kLint: of lint.json); "" before the end
  std::string sarif() const;   // kLint: the findings as SARIF; else ""
  // The faults injected in the running execution that match. `unknown` is set if the answer depends on
  // a faulted RPC whose arguments could not be read.
  struct Injected {
    std::vector<InjectedFault> faults;
    std::string unknown;
  };
  // Error: the question names a gRPC method or arguments that cannot exist.
  Result<Injected> injected(const FaultQuery& query);
  // The running execution, else the last one.
  ExecutionRecord trace();

 private:
  void run();
  Result<void> work(SessionReport* report);
  Result<std::string> prepare_root();
  std::string coverage_helpers() const;
  std::string coverage_key(const SessionLane& lane) const;
  Result<std::string> usable_preload(const std::string& hub_directory) const;
  void tell(nlohmann::json event);
  void finish(SessionReport report, const std::optional<Error>& error);
  void watch_client();
  std::string summary(const SessionReport& report) const;

  SessionRequest request_;
  DaemonContext context_;
  lint::Report lint_;  // kLint; used by the worker thread only, like the next two
  std::optional<coverage::Report> coverage_;
  bool ports_moved_ = false;
  std::string id_;
  int wake_fd_ = -1;  // eventfd, readable when the session is to stop
  int done_fd_ = -1;  // eventfd, readable when the watcher may end
  std::atomic<bool> done_{false};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;  // guards everything below, but for the threads
  std::condition_variable changed_;
  std::vector<nlohmann::json> events_;  // the last kKeptEvents, or up to twice as many
  uint64_t first_event_ = 0;
  std::chrono::steady_clock::time_point last_told_;
  int exit_code_ = 0;
  std::string report_, sarif_;
  std::shared_ptr<AgentHub> hub_;
  ExecutionRecord last_;
  std::shared_ptr<ServiceDescriptors> descriptors_;  // null: there is no lane yet
  std::optional<Questions> questions_;               // of the running test

  std::thread worker_, watcher_;
};

}  // namespace filibuster
