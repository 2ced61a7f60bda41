// What a session is asked to do, and where its daemon works.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/lint/lint.h"
#include "daemon/model/injected_fault.h"
#include "daemon/process/ports.h"
#include "daemon/report/baseline.h"
#include "daemon/report/representation.h"
#include "daemon/retries/plan_file.h"
#include "daemon/retries/policies.h"

namespace filibuster {

class DescriptorSet;

// What `filibuster suite` is asked for beyond a run.
struct SuiteOptions {
  retries::Metric metric = retries::Metric::kC4;
  std::vector<retries::Policy> policies;  // in order
  bool estimate = false;                  // nothing is faulted
  std::string write_plan;                 // absolute path; "": no plan is written
  std::optional<retries::PlanFile> plan;  // what to execute, in the place of a metric
};

struct SessionRequest {
  enum class Verb { kRun, kReplay, kTrace, kLint, kSuite } verb = Verb::kRun;
  Config config;
  std::string config_text;
  std::vector<TestConfig>
      tests;  // tests to explore, and suites; the session puts their tests in place
  std::vector<std::string> only;  // names of the tests to explore, if there are suites; empty: all
  bool restart = false;
  bool coverage = false;        // measure which statements of the services are reached; kRun
  bool allow_untested = false;  // RPCs that could not be tested leave the exit code as it is; kRun
  uint32_t lanes = 1;           // 0: as many as there are processors; kRun
  bool profile = false;         // the summary says where the time goes; kRun
  bool follow = false;          // watch what happens until the user ends it; kTrace
  Representation representation = Representation::kCompact;  // of what `trace` prints
  pid_t client_pid = 0;                                      // 0: nobody to watch
  uint64_t client_start_time = 0;
  std::vector<InjectedFault> faults;                 // kReplay
  std::string found_as;                              // kReplay: the verdict of the counterexample
  lint::Options lint;                                // kLint
  SuiteOptions suite;                                // kSuite
  std::shared_ptr<const DescriptorSet> descriptors;  // null: the configuration names none
  std::string learnt_descriptors;  // kReplay: what services said when it was explored
  PortMap ports;                   // kReplay: the automatic ports with which it was explored
  Baseline baseline;               // kRun
  std::string day;                 // with which the baseline is compared
  std::string working_directory;   // of the user
  std::string command_line;  // that continues this exploration, as a shell reads it; "": not known
  std::vector<std::string> changed_files;  // kRun
  std::vector<std::string> remarks;        // for the user, when the session begins
};

struct DaemonContext {
  std::string root;  // absolute
  std::string api_url, token;
  uint16_t api_port = 0;
  std::string
      preload;  // path of libfilibuster.so; the helpers of coverage are in filibuster/ beside it
  std::function<void()> on_client_gone;
};

}  // namespace filibuster
