// One session from the command line's side: ask the daemon for it, show how it goes, leave in
// order.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "cli/daemon_process.h"
#include "cli/request.h"

namespace filibuster::cli {

// The options that say what is tested and where results go (run, trace), and --root and --json
// alone.
void declare_source_options(CLI::App& app, SessionOptions* options);
// Which parts indexes have (run, trace).
void declare_index_options(CLI::App& app, SessionOptions* options);
void declare_common_options(CLI::App& app, SessionOptions* options);

Client this_client();

// Where the end of the session leaves something to ask the daemon for, before it goes: gets the
// session's id and exit code, returns the exit code.
using AtEnd = std::function<int(const Daemon& daemon, const std::string& id, int code)>;

// Posts `request`, follows the session to its end; returns the exit code. Ctrl-C stops the session
// after its running execution (a second one leaves at once).
int run_session(const SessionOptions& options, const nlohmann::ordered_json& request,
                AtEnd at_end = nullptr);

}  // namespace filibuster::cli
