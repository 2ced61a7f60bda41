#include <CLI/App.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

// Prints the tree of RPCs after the events, for --json. Without it, the summary has the tree.
int print_tree(const Daemon& daemon, int code) {
  const Result<Answer> answer = daemon.client().get("/v1/trace");
  if (!answer || answer->status != 200) return code;
  const auto tree = nlohmann::ordered_json::parse(answer->body, nullptr, false);
  if (tree.is_discarded()) return code;
  const nlohmann::ordered_json line = {{"type", "trace"}, {"trace", tree}};
  std::printf("%s\n",
              line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  return code;
}

Work declare_trace(CLI::App& app) {
  auto options = std::make_shared<SessionOptions>();
  declare_source_options(app, options.get());
  declare_index_options(app, options.get());
  app.add_option("--representation", options->representation,
                 "how the indexes are printed: debugging, verbose or compact (default)")
      ->type_name("FORM")
      ->check(CLI::IsMember({"debugging", "verbose", "compact"}));
  app.add_flag("--follow", options->follow,
               "run no test: watch what is attached or preloaded, live, until Ctrl-C");
  return [options](const Invocation& invocation) {
    if (options->follow && invocation.has_command)
      return complain(kUsage, "--follow runs no test; leave out the command after '--'");
    options->has_command = invocation.has_command;
    options->command_line.command = invocation.command;
    const auto request = session_request("trace", *options, this_client());
    if (!request) return complain(kUsage, request.error().message);
    return run_session(*options, request.value(),
                       [&](const Daemon& daemon, const std::string&, int code) {
                         return options->json && !options->follow ? print_tree(daemon, code) : code;
                       });
  };
}

}  // namespace

const Verb kTraceVerb = {
    "trace", "one execution without faults: the tree of RPCs with their indexes",
    "  filibuster trace -- ./their_test\n"
    "  filibuster trace --follow --attach users=port:8080 --attach movies=port:8081\n"
    "  filibuster trace -c shop.json --test checkout\n"
    "\nExit status: 0 each test passes, 1 a test fails, 2 usage or configuration,\n"
    "3 environment or interrupted; filibuster(1) has the table.\n",
    "[-- TEST [ARG...]]", declare_trace};

}  // namespace filibuster::cli
