// Turns the options of `run`, `trace`, `lint` and `replay` into the body of POST /v1/sessions
// (docs/api.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration.h"
#include "core/result.h"

namespace filibuster::cli {

struct SessionOptions {
  std::string config_file;  // -c
  CommandLineConfiguration command_line;
  bool has_command = false;        // "--" was given
  std::vector<std::string> typed;  // the words of the command line
  std::string root = ".filibuster";
  std::vector<std::string> tests;
  bool restart = false;
  // For options that are not given, the configuration decides.
  std::string reduce;
  bool stop_at_first = false;
  bool real_timeouts = false;
  std::optional<bool> snapshots;
  bool no_reset = false;
  bool coverage = false;
  bool allow_untested = false;
  bool profile = false;
  std::string lanes = "1";
  uint64_t max_executions = 0;
  uint32_t max_faults = 0;
  uint32_t reference_executions = 0;
  std::string max_time;              // "10m"; "": no bound
  std::string baseline;              // the file of accepted findings; "": that of the configuration
  std::vector<std::string> changed;  // files; each text may hold several, one a line
  std::string representation;        // of the indexes that `trace` prints; "": compact
  std::vector<std::string> index_without;  // payload | stack | count | path
  bool json = false;
  bool quiet = false;
  bool in_runner = false;      // prints what a test runner shows, as JSON lines; `principled`
  bool follow = false;         // watch until Ctrl-C, without a test; `trace`
  bool document = false;       // standard output is for one document, printed at the end
  std::string counterexample;  // the file that is replayed; "": none
  bool trust = false;          // the commands in that file may be executed, wherever it comes from
};

struct Client {  // this process: the daemon ends the session when the process ends
  int64_t pid = 0;
  uint64_t start_time = 0;
  std::string directory;    // absolute working directory
  std::string application;  // FILIBUSTER_APPLICATION
  std::string day = {};     // FILIBUSTER_TODAY
};

// The command line that goes on with the exploration that `typed` began, as a shell reads it.
std::string command_to_go_on(const std::vector<std::string>& typed);

// Reads the configuration file if there is one. The Error is one of usage or configuration.
Result<nlohmann::ordered_json> session_request(const char* mode, const SessionOptions& options,
                                               const Client& client);
// From the text of a counterexample file.
Result<nlohmann::ordered_json> replay_request(const std::string& path, const std::string& text,
                                              const SessionOptions& options, const Client& client);

}  // namespace filibuster::cli
