#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

Work declare(CLI::App& app) {
  auto options = std::make_shared<SessionOptions>();
  declare_source_options(app, options.get());
  app.add_option(
         "--fault", options->command_line.faults,
         "inject this at every RPC in place of the default set (repeatable): refused, reset, "
         "reset:after, timeout, timeout:after, status:503, 503, grpc:UNAVAILABLE; on HTTP/2 stream-reset:CANCEL, "
         "goaway, latency:300ms, partial-message, empty-message, corrupt-message, no-trailers, "
         "grpc:UNAVAILABLE@3 (after the third message); of commands to Redis redis:LOADING, redis:nil")
      ->type_name("FAULT")
      ->allow_extra_args(false);
  auto* const reduce =
      app.add_option("--reduce", options->reduce,
                     "leave out what is equivalent to earlier executions: sound (default: every "
                     "single fault is executed, and answers are compared by status and body), "
                     "published (by status alone, which misses bugs) or off")
          ->type_name("MODE");
  app.add_flag_callback(
         "--no-reduction", [options] { options->reduce = "off"; }, "the same as --reduce off")
      ->excludes(reduce);
  app.add_option("--max-executions", options->max_executions, "stop after N executions")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}));
  app.add_option("--max-faults", options->max_faults, "at most N faults in one execution")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--reference-executions", options->reference_executions,
                 "run N times without faults first and mask what varies (default 2; 1: compare "
                 "nothing)")
      ->type_name("N")
      ->check(CLI::Range(1, 100));
  app.add_flag("--stop-at-first", options->stop_at_first, "stop at the first failure");
  app.add_flag("--real-timeouts", options->real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag("--coverage", options->coverage,
               "measure which statements of the services are reached, and which only under faults "
               "(Python, Node, JVM, gcc --coverage): coverage.json beside report.json");
  app.add_flag("--allow-untested", options->allow_untested,
               "RPCs that could not be tested (the last line counts them) do not make the exit status 3");
  app.add_flag("--restart-session", options->restart,
               "forget an interrupted session instead of continuing it");
  declare_index_options(app, options.get());
  return [options](const Invocation& invocation) {
    options->has_command = invocation.has_command;
    options->command_line.command = invocation.command;
    const auto request = session_request("run", *options, this_client());
    if (!request) return complain(kUsage, request.error().message);
    return run_session(*options, request.value());
  };
}

}  // namespace

const Verb kRunVerb = {
    "run", "explore what every remote call's failure does to the tests",
    "  filibuster run                                   # filibuster.json in this directory\n"
    "  filibuster run -c shop.json --test checkout\n"
    "  filibuster run --service users='python3 users.py --port ${port:users}' -- pytest "
    "test_it.py\n"
    "  filibuster run --service users='./users 8080' --port users=8080 -- ./their_test\n"
    "\nExit status: 0 nothing found, 1 findings, 2 usage or configuration, 3 environment, interrupted,\n"
    "or an RPC could not be tested; filibuster(1) has the table. An interrupted run continues when the\n"
    "same command runs again, unless the programs have changed.\n",
    "[-- TEST [ARG...]]", declare};

}  // namespace filibuster::cli
