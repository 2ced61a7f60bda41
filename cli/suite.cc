#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output_file.h"
#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct SuiteOptions {
  SessionOptions session;
  std::string policies, coverage = "C4", write_plan, plan, copy;
  bool estimate = false;
};

Result<nlohmann::ordered_json> suite_member(const SuiteOptions& options, const Client& client) {
  nlohmann::ordered_json out = {{"policies", options.policies},
                                {"coverage", options.coverage},
                                {"estimate", options.estimate}};
  if (!options.write_plan.empty())
    out["write_plan"] =
        (std::filesystem::path(client.directory) / options.write_plan).lexically_normal().string();
  if (options.plan.empty()) return out;
  Result<std::string> text = read_file(options.plan);
  if (!text) return Error{"--plan: " + text.error().message};
  if (auto error = utf8_error(text.value(), options.plan)) return Error{"--plan: " + *error};
  out["plan"] = std::move(text).value();
  return out;
}

int write_copy(const SuiteOptions& options, const Daemon& daemon, const std::string& id, int code) {
  if (options.copy.empty()) return code;
  const Result<Answer> answer = daemon.client().get("/v1/sessions/" + id + "/report?format=json");
  const Result<void> written = !answer ? Result<void>(answer.error())
                               : answer->status != 200
                                   ? Result<void>(Error{"the daemon has no such report"})
                                   : write_output(options.copy, answer->body);
  if (written) return code;
  return complain(code == kNothingFound ? static_cast<int>(kEnvironment) : code,
                  "--output: " + written.error().message);
}

Work declare_suite(CLI::App& app) {
  auto options = std::make_shared<SuiteOptions>();
  SessionOptions* const session = &options->session;
  declare_source_options(app, session);
  app.add_option(
         "--runner", session->command_line.runner,
         "the suite's test runner: pytest, unittest, jest, mocha, node, gtest or junit; what stands after '--' is "
         "where its tests are, and then options of the runner")
      ->type_name("NAME");
  app.add_option(
         "--policy", options->policies,
         "the faults of a call, of P1 (first answer times out after the server acted), P2 (all answers time "
         "out), P1-reset and P2-reset (the same by the end of the connection, without a wait), P3 (a transient "
         "error to all attempts), P4 (first answer times out, errors to the retries), and those of the "
         "configuration; default: all")
      ->type_name("P1,P4,...");
  app.add_option(
         "--coverage", options->coverage,
         "C1 every test at its first call; C2 every call site once, in its cheapest test; C3 every test and "
         "every call site, in pairs at the least time; C4 every call site of every test")
      ->type_name("METRIC")
      ->check(CLI::IsMember({"C1", "C2", "C3", "C4"}))
      ->capture_default_str();
  app.add_flag("--estimate", options->estimate,
               "say what each metric would take, and fault nothing");
  app.add_option("--write-plan", options->write_plan, "write the plan to this file")
      ->type_name("FILE");
  app.add_option("--plan", options->plan,
                 "execute the plan of this file in the place of a metric's")
      ->type_name("FILE")
      ->excludes("--coverage");
  app.add_option("--output", options->copy, "write the report here, too (always: ROOT/suite.json)")
      ->type_name("FILE");
  app.add_option("--reference-executions", session->reference_executions,
                 "run each test N times without faults first (default 2)")
      ->type_name("N")
      ->check(CLI::Range(2, 100));
  app.add_option("--max-time", session->max_time,
                 "begin no execution after this time (90s, 10m, 1h); replays have half of it more")
      ->type_name("TIME");
  app.add_flag("--real-timeouts", session->real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag("--allow-untested", session->allow_untested,
               "calls whose cause is not known do not make the exit status 3");
  declare_lanes_option(
      app, session,
      "run tests on N replicas of the application at the same time, or on as many as "
      "there are processors (auto); default 1, since replicas may share a database");
  declare_index_options(app, session);
  return [options, session](const Invocation& invocation) {
    session->has_command = invocation.has_command;
    session->command_line.command = invocation.command;
    const Client client = this_client();
    auto request = session_request("suite", *session, client);
    if (!request) return complain(kUsage, request.error().message);
    auto member = suite_member(*options, client);
    if (!member) return complain(kUsage, member.error().message);
    request.value()["suite"] = std::move(member).value();
    return run_session(*session, request.value(),
                       [&](const Daemon& daemon, const std::string& id, int code) {
                         return write_copy(*options, daemon, id, code);
                       });
  };
}

}  // namespace

const Verb kSuiteVerb = {
    "suite", "what every remote call's timeouts, errors and retries do to the tests of a suite",
    "  filibuster suite                                  # the suites of filibuster.json\n"
    "  filibuster suite --runner pytest -- tests/\n"
    "  filibuster suite --runner mocha -- test/ --timeout 5000\n"
    "  filibuster suite --policy P1,P4 --coverage C3 --estimate\n"
    "  filibuster suite --write-plan plan.json --estimate && filibuster suite --plan plan.json -j 4\n"
    "\nExit status: 0 nothing found, 1 likely bugs, 2 usage or configuration, 3 environment, interrupted,\n"
    "or nothing could be concluded, 4 nothing found before the time of --max-time was over.\n",
    "[-- PATH... [OPTION...] | -- TEST [ARG...]]", declare_suite};

}  // namespace filibuster::cli
