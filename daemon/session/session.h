// One session: a configuration and its tests, explored one after the other on a thread of its own,
// against services that are started once per lane. What happens is told as numbered events.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/agents/agent_hub.h"
#include "daemon/coverage/report.h"
#include "daemon/lane/lane.h"
#include "daemon/lane/lane_set.h"
#include "daemon/model/session_report.h"
#include "daemon/page/data.h"
#include "daemon/principled/channel.h"
#include "daemon/redact/rules.h"
#include "daemon/session/event_log.h"
#include "daemon/session/explorations.h"
#include "daemon/session/live_page.h"
#include "daemon/session/mode.h"
#include "daemon/session/request.h"
#include "daemon/session/underway.h"

namespace filibuster {

class Session {
 public:
  Session(SessionRequest request, DaemonContext context);
  ~Session();  // stops and waits

  const std::string& id() const { return id_; }
  bool running() const { return !events_.ended(); }
  // Gives up the running execution and ends. The same execution runs again when the session resumes.
  void stop();

  EventLog::News news(uint64_t after, std::chrono::milliseconds wait) {
    return events_.news(after, wait);
  }

  std::string report() const;  // text of the verb's document; "" before the end
  LivePage& live_page() { return live_page_; }
  const Underway& underway() const { return underway_; }
  principled::BlockChannel& blocks() { return blocks_; }
  // The same in another format (documents.h). "": there is none.
  std::string document(const std::string& format) const;
  // The faults injected in the running execution that match. `unknown` is set if the answer depends on
  // a faulted RPC whose arguments could not be read.
  struct Injected {
    std::vector<InjectedFault> faults;
    std::string unknown;
  };
  // Error: the question names a gRPC method or arguments that cannot exist.
  // `lane`: whose test asks.
  Result<Injected> injected(const FaultQuery& query, uint32_t lane);
  // The running execution, else the last one.
  ExecutionRecord trace();

 private:
  const VerbNeeds& needs() const;
  void run();
  Result<void> work(SessionReport* report);
  // The application from its start to its end, and what is done with it.
  Result<void> act(SessionReport* report);
  bool may_go_on() const;
  void note_attached(const std::vector<attach::FoundService>& attached, SessionReport* report);
  uint32_t wanted_lanes();
  std::unique_ptr<LaneSet> make_further_lanes(const Lane::Options& options, uint32_t lanes);
  // Explores every test on `lane`, whose services are running.
  Result<void> explore_tests(Lane* lane, SessionReport* report);
  Suspects suspects();
  static std::string coverage_helpers(const SessionLane& lane);
  std::string coverage_key(const SessionLane& lane) const;
  Result<std::unique_ptr<coverage::Collector>> make_collector(const SessionLane& lane) const;
  void collect(coverage::Collector* collector, const SessionReport& report, bool to_the_end);
  void finish(SessionReport report, const std::optional<Error>& error);
  std::string write(const Document& document, bool* is_in_root);
  PageExtras page_extras() const;
  // Returns the path; "": it was not written, and a warning says why.
  std::string write_page(const Document::Page& page);
  // Writes report.html. Returns its path; "": it was not written, and a warning says why.
  std::string write_page(const SessionReport& report);
  void warn(const std::string& text) { events_.tell({{"type", "warning"}, {"text", text}}); }
  void watch_client();

  SessionRequest request_;
  const RulesInForce secrets_{SecretRules::compile(request_.config.redact)};
  DaemonContext context_;
  // --- used by the worker thread only ---
  std::optional<attach::Loader> loader_;  // outlives the lanes
  std::unique_ptr<Mode> mode_;
  std::optional<coverage::Report> coverage_;
  std::chrono::steady_clock::time_point began_;
  std::unique_ptr<LaneSet> further_lanes_;
  uint32_t lanes_ = 1;
  bool ports_moved_ = false;
  bool resumed_ = false;  // a test went on where an interrupted session stopped
  // ---
  std::string id_;
  int wake_fd_ = -1;  // eventfd, readable when the session is to stop
  int done_fd_ = -1;  // eventfd, readable when the watcher may end
  std::atomic<bool> stopped_{false};
  std::atomic<bool> client_gone_{false};
  EventLog events_;
  LivePage live_page_;
  Underway underway_;
  principled::BlockChannel blocks_;

  mutable std::mutex mutex_;  // guards everything below, but for the threads
  Document document_;
  std::shared_ptr<AgentHub> hub_;
  std::map<uint32_t, std::shared_ptr<AgentHub>> further_hubs_;  // by lane
  std::shared_ptr<Explorations> explorations_;                  // null: no test has run yet

  std::thread worker_, watcher_;
};

}  // namespace filibuster
