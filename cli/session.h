// One session from the command line's side: asks the daemon for it, shows its progress, and leaves in
// order.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "cli/daemon_process.h"
#include "cli/request.h"

namespace filibuster::cli {

// The options that say what is tested, with those of declare_common_options() (run, trace, lint).
void declare_source_options(CLI::App& app, SessionOptions* options);
// The options that say which parts indexes have (run, trace).
void declare_index_options(CLI::App& app, SessionOptions* options);
// --max-executions and --max-faults (run, principled).
void declare_bound_options(CLI::App& app, SessionOptions* options);
// -j, with its description.
void declare_lanes_option(CLI::App& app, SessionOptions* options, const std::string& what);
// --root and --json.
void declare_common_options(CLI::App& app, SessionOptions* options);

Client this_client();

// Is called after the end of the session while the daemon still runs, to ask it for more. Gets the
// session's id and exit code, and returns the exit code.
using AtEnd = std::function<int(const Daemon& daemon, const std::string& id, int code)>;

// Has the user asked this process to end (Ctrl-C)? Only after run_session() was called once.
bool is_interrupted();

// Posts `request`, follows the session to its end; returns the exit code. Ctrl-C stops the session
// after its running execution (a second one leaves at once).
int run_session(const SessionOptions& options, const nlohmann::ordered_json& request,
                AtEnd at_end = nullptr);

}  // namespace filibuster::cli
