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
#include "daemon/report/finding.h"
#include "daemon/report/representation.h"
#include "daemon/session/explorer.h"
#include "daemon/session/ports.h"
#include "daemon/session/questions.h"
#include "daemon/session/service_descriptors.h"

namespace filibuster {

struct SessionRequest {
  enum class Mode { kRun, kReplay, kTrace, kLint } mode = Mode::kRun;
  Config config;
  std::string config_text;
  std::vector<TestConfig> tests;  // those to explore, and suites
  std::vector<std::string> only;  // where there are suites: of their tests, and others, these; empty: all
  bool restart = false;
  bool coverage = false;  // of the services' statements; kRun
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
  std::string preload;  // libfilibuster.so; what runs in services besides is in filibuster/ beside it
  std::function<void()> on_client_gone;
};

class Session {
 public:
  Session(SessionRequest request, DaemonContext context);
  ~Session();  // stops and waits

  const std::string& id() const { return id_; }
  bool running() const { return !done_.load(); }
  // Ends after the running execution is given up; it is executed again when the session resumes.
  void stop();

  struct News {
    std::vector<nlohmann::json> events;
    uint64_t next = 0;
    bool done = false;
    int exit_code = 0;
  };
  // Events with n >= after; waits at most `wait` for the first, and a little for more.
  News news(uint64_t after, std::chrono::milliseconds wait);

  std::string report() const;  // report.json, of a kLint lint.json; "" before the end
  std::string sarif() const;   // of a kLint; "" else
  // The faults injected in the running execution that match. `unknown` is set where a fault of
  // which the arguments could not be read would decide.
  struct Injected {
    std::vector<InjectedFault> faults;
    std::string unknown;
  };
  // Error: the question names arguments that cannot be.
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
  lint::Report lint_;  // kLint; the worker's
  std::optional<coverage::Report> coverage_;  // the worker's
  bool ports_moved_ = false;                  // the worker's
  std::string id_;
  int wake_fd_ = -1;  // eventfd: stop
  int done_fd_ = -1;  // eventfd: the watcher may end
  std::atomic<bool> done_{false};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;  // everything below
  std::condition_variable changed_;
  std::vector<nlohmann::json> events_;  // the last kKeptEvents
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
