// What a session has shown: the model that every text and every document is made from.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/baseline_use.h"
#include "daemon/model/test_report.h"

namespace filibuster {

// A service that was reached from outside, through a proxy (docs/attach.md).
struct AttachedRow {
  std::string service, program;
  std::vector<int> pids;
  bool started = false;  // by this session, and then attached ("interpose": "bpf")
};
struct SessionReport {
  std::string session;
  std::string config_path;
  std::vector<TestReport> tests;
  bool allow_untested = false;
  int exit_code = 0;
  std::string error = {};              // what ended the session early; "": nothing did
  std::string working_directory = {};  // of the user: SARIF names files relative to it
  BaselineUse baseline = {};
  bool profile = false;  // the text says where the time goes
  std::vector<AttachedRow> attached = {};
  std::string command_line =
      {};  // that goes on with this exploration, as a shell reads it; "": not known

  // The number of findings that make the session fail: new ones, and accepted ones whose day is over.
  size_t failing() const;
};

}  // namespace filibuster
