#include "cli/run.h"

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/copies.h"
#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct RunOptions {
  SessionOptions session;
  Copy copies[3] = {{"junit", ""}, {"sarif", ""}, {"markdown", ""}};
};

Work declare_verb(CLI::App& app) {
  return declare_run(app);
}

}  // namespace

Work declare_run(CLI::App& app, std::vector<std::string>** attached) {
  auto run = std::make_shared<RunOptions>();
  SessionOptions* const options = &run->session;
  if (attached != nullptr) *attached = &options->command_line.attached;
  declare_source_options(app, options);
  app.add_option(
         "--fault", options->command_line.faults,
         "inject this at every RPC in place of the default set (repeatable): refused, reset, "
         "reset:after, timeout, timeout:after, status:503, 503, grpc:UNAVAILABLE; of HTTP/1.1 and gRPC answers "
         "latency:300ms, partial-message, empty-message, corrupt-message; on HTTP/1.1 slow-body, slow-body:2s, "
         "content-length:+10; on HTTP/2 stream-reset:CANCEL, goaway, no-trailers, "
         "grpc:UNAVAILABLE@3 (after the third message); of commands to Redis redis:LOADING, redis:nil, latency:300ms; of the handshake of TLS "
         "tls:certificate-expired, tls:unknown-ca, tls:handshake-timeout, tls:closed-without-notify")
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
  declare_bound_options(app, options);
  app.add_option("--reference-executions", options->reference_executions,
                 "run N times without faults first and mask what varies (default 2; 1: compare "
                 "nothing)")
      ->type_name("N")
      ->check(CLI::Range(1, 100));
  app.add_option(
         "--max-time", options->max_time,
         "begin no execution after this time (90s, 10m, 1h); the same command goes on with the rest")
      ->type_name("TIME");
  app.add_option(
         "--changed", options->changed,
         "files that have changed: what they call is tried earlier (repeatable; one on each line, as "
         "git diff --name-only prints them)")
      ->type_name("FILES")
      ->allow_extra_args(false);
  app.add_option("--baseline", options->baseline,
                 "the accepted findings, in place of the configuration's 'baseline'")
      ->type_name("FILE");
  app.add_option("--junit", run->copies[0].file,
                 "write JUnit XML here, too (always: ROOT/junit.xml)")
      ->type_name("FILE");
  app.add_option("--sarif", run->copies[1].file,
                 "write SARIF here, too (always: ROOT/report.sarif)")
      ->type_name("FILE");
  app.add_option("--markdown", run->copies[2].file,
                 "write the summary for a job page here, too (always: ROOT/summary.md)")
      ->type_name("FILE");
  app.add_flag("--stop-at-first", options->stop_at_first,
               "stop at the first failure that is not accepted");
  app.add_flag("--real-timeouts", options->real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag_callback(
      "--no-snapshot", [options] { options->snapshots = false; },
      "start the test anew for each execution, also where it could be forked at its first connection");
  app.add_flag_callback(
         "--snapshot", [options] { options->snapshots = true; },
         "fork the test at its first connection also where it starts in a few milliseconds")
      ->excludes("--no-snapshot");
  app.add_flag("--no-reset", options->no_reset,
               "fork the test anew for each execution: a child does not serve the next one");
  app.add_flag("--coverage", options->coverage,
               "measure which statements of the services are reached, and which only under faults "
               "(Python, Node, JVM, gcc --coverage): coverage.json beside report.json");
  app.add_flag(
      "--allow-untested", options->allow_untested,
      "RPCs that could not be tested (the last line counts them) do not make the exit status 3");
  declare_lanes_option(
      app, options,
      "run executions on N replicas of the application at the same time, or on as many as there are "
      "processors (auto); default 1, since replicas may share a database");
  app.add_flag("--profile", options->profile,
               "say where the time of the executions went (report.json has it in any case)");
  app.add_flag("--restart-session", options->restart,
               "forget an interrupted session instead of continuing it");
  declare_index_options(app, options);
  return [run, options](const Invocation& invocation) {
    options->has_command = invocation.has_command;
    options->typed = invocation.typed;
    options->command_line.command = invocation.command;
    const auto request = session_request("run", *options, this_client());
    if (!request) return complain(kUsage, request.error().message);
    return run_session(*options, request.value(),
                       [&](const Daemon& daemon, const std::string& id, int code) {
                         return write_copies(run->copies, daemon, id, code);
                       });
  };
}

const Verb kRunVerb = {
    "run", "explore what every remote call's failure does to the tests",
    "  filibuster run                                   # filibuster.json in this directory\n"
    "  filibuster run -c shop.json --test checkout\n"
    "  filibuster run --service users='python3 users.py --port ${port:users}' -- pytest "
    "test_it.py\n"
    "  filibuster run --service users='./users 8080' --port users=8080 -- ./their_test\n"
    "  filibuster run --max-time 10m --changed \"$(git diff --name-only origin/main)\"\n"
    "\nExit status: 0 nothing found that is not accepted, 1 findings, 2 usage or configuration,\n"
    "3 environment, interrupted, or an RPC could not be tested, 4 nothing found before the time of\n"
    "--max-time was over; filibuster(1) has the table. An interrupted run continues when the same\n"
    "command runs again, unless the programs have changed.\n",
    "[-- TEST [ARG...]]", declare_verb};

}  // namespace filibuster::cli
