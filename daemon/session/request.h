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
#include "daemon/process/ports.h"
#include "daemon/report/baseline.h"

namespace filibuster {

class DescriptorSet;

// What of a session a verb takes part in.
struct VerbNeeds {
  bool lanes = false;     // -j: replicas of the application
  bool deadline = false;  // --max-time ends it
  bool suspects = false;  // what an earlier report and changed files point to comes first
  bool documents =
      false;  // its report stands beside those for CI (documents.h), and its exit code says whether they could be written
  bool page = false;      // report.html
  bool coverage = false;  // --coverage
  bool bytes =
      false;  // what goes over connections is read, also where an attached service is only watched
  TestKind tests = TestKind::kPlain;  // which tests it runs
};

class Verb;  // verb.h

// What a request has for its verb alone (daemon/verbs/*/request.h).
struct VerbRequest {
  virtual ~VerbRequest() = default;
};

struct SessionRequest {
  const Verb* verb = nullptr;
  std::shared_ptr<const VerbRequest> own;
  // Precondition: it is of the verb that has made it.
  template <typename Own>
  const Own& own_as() const {
    return static_cast<const Own&>(*own);
  }
  Config config;
  std::string config_text;
  std::vector<TestConfig>
      tests;  // tests to explore, and suites; the session puts their tests in place
  std::vector<std::string> only;  // names of the tests to explore, if there are suites; empty: all
  bool restart = false;
  bool coverage = false;        // measure which statements of the services are reached
  bool allow_untested = false;  // RPCs that could not be tested leave the exit code as it is
  uint32_t lanes = 1;           // 0: as many as there are processors
  bool watches = false;         // there is no test: what happens is watched until the user ends it
  pid_t client_pid = 0;         // 0: nobody to watch
  uint64_t client_start_time = 0;
  std::shared_ptr<const DescriptorSet> descriptors;  // null: the configuration names none
  std::string learnt_descriptors;                    // what services said in an earlier session
  PortMap ports;                                     // the automatic ports of an earlier session
  Baseline baseline;                                 // of findings that are accepted
  std::string day;                                   // with which the baseline is compared
  std::string working_directory;                     // of the user
  std::string command_line;  // that continues this exploration, as a shell reads it; "": not known
  std::vector<std::string> changed_files;  // they point to what is tried first
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
