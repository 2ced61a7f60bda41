// The lints of one test (`filibuster lint`): one execution without faults, which the passive lints
// read, then probes. A probe injects at a call site a failure (is it retried, and how soon?) or a
// silence (does the caller give up?). Call sites that only appear under a failure are probed with that
// failure in front of them. daemon/lint judges; all of it runs on the session's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/explore/test_run.h"
#include "daemon/lint/lint.h"

namespace filibuster {

struct Linting {
  lint::TestLint result;
  std::optional<Error> error;  // environment: nothing further can be concluded
  bool stopped = false;
};

// What the tests of a session share: a call site is probed in the first test that reaches it.
struct LintMemory {
  struct Probed {
    std::string timeout;  // as in lint::CallSite
    std::optional<uint32_t> retries;
  };
  std::unordered_map<std::string, Probed> sites;  // by lint::site_key
  uint32_t files = 0;                             // number of replay files written so far
};

class Linter {
 public:
  // All arguments must outlive the linter.
  Linter(SessionContext* session, Lane* lane, const TestConfig& test, const lint::Options& options,
         LintMemory* memory)
      : session_(*session),
        lane_(*lane),
        test_(test),
        options_(options),
        memory_(memory),
        config_(session->config) {}

  Linting lint();

 private:
  using Faults = std::vector<InjectedFault>;
  struct Site {
    RpcRecord rpc;   // the first request of this call site
    Faults prefix;   // the faults without which the call site is not reached
    size_t row = 0;  // index in result.sites
    // How often its parent sends that request without a fault at this call site.
    size_t repeats = 0;
  };
  struct Probe {
    ExecutionRecord record;
    std::string problem;  // why nothing may be concluded; "": there is a conclusion
  };

  Result<void> work();
  // Never false. Error: nothing can be concluded from it.
  Result<bool> accept(const Attempt& reference);
  Result<void> run_reference();
  Result<void> run_probes();
  Result<void> probe_retries(size_t number);
  Result<bool> probe_retries(size_t number, const char* fault);  // true: retries were seen
  Result<void> probe_silence(size_t number);
  Result<Probe> attempt(const Faults& faults, std::chrono::milliseconds more_time);
  void discover(const ExecutionRecord& record, const Faults& faults);
  std::string obstacle(const RpcRecord& rpc) const;
  bool out_of_probes() const;
  void not_probed(const Site& site, const char* what, const std::string& reason);
  std::string write_replay(const Faults& faults, const std::string& detail);
  void tell(const Attempt& attempt, const Faults& faults);

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  const lint::Options& options_;
  LintMemory* memory_;
  Config config_;  // a copy, whose quiesce_timeout is long enough for a silence to end
  std::unique_ptr<TestRun> run_;
  Linting out_;
  std::vector<Site> sites_;  // of services, in order of discovery
  std::unordered_set<std::string> known_sites_;
  std::chrono::milliseconds silence_{0};
  uint64_t probed_sites_ = 0;
};

}  // namespace filibuster
